#include "properties/suite/exported_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "kernels/contract_recipes.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/dense.hpp"
#include "properties/run/given_outputs.hpp"
#include "properties/suite/problem_json.hpp"
#include "properties/system/json_check.hpp"
#include "properties/system/npy.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/scratch_folder.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
constexpr const char* manifest_name = "manifest.json";

const char* descr_of(dtype type) {
  switch (type) {
    case dtype::i64: return "<i8";
    case dtype::i32: return "<i4";
    case dtype::i8: return "|i1";
    case dtype::f16: return "<f2";
    case dtype::bf16: return "<u2";
    case dtype::f32:
    case dtype::tf32: return "<f4";
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz:
    case dtype::none: break;
  }
  return "|u1";
}

std::vector<std::int64_t> shape_of(const tensor& t) {
  return {t.shape, t.shape + t.rank};
}

std::string bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

/// The files of one case.
class case_files {
 public:
  case_files(const exported_case& c, const fs::path& folder) : case_(c), folder_(folder), given_(fill(c.stated)) {}

  /// Writes them; their part of the manifest.
  json::object write() {
    const problem planned = with_splits(case_.stated);
    json::object in, out;
    for (const buffer& b : given_.buffers) in[b.name()] = input(b);
    const oracle::enclosure bounds = oracle::enclose(planned, given_.tensors(), of_types(planned));
    const oracle::enclosure exact = oracle::evaluate_exactly(planned, given_.tensors());
    const execution unwritten = unwritten_execution(case_.stated, given_, {});
    for (const buffer& b : unwritten.written.buffers) {
      json::object o = described(b);
      o["file"] = (fs::path(case_.name) / "outputs" / (b.name() + ".npy")).string();
      o["initial"] = array("initial", b);
      for (const oracle::enclosed_tensor& t : exact.tensors)
        if (t.name == b.name()) o["exact"] = values("exact", t.name, t, middle);
      for (const oracle::enclosed_tensor& t : bounds.tensors)
        if (t.name == b.name()) add_enclosure(o, t);
      out[b.name()] = std::move(o);
    }
    fs::create_directories(folder_ / case_.name / "outputs");
    return {{"name", case_.name},
            {"case", json::parse(to_json(case_.stated))},
            {"problem", problem_to_json(planned)},
            {"inputs", std::move(in)},
            {"outputs", std::move(out)}};
  }

 private:
  static double middle(const oracle::enclosed_tensor& t, std::size_t i) {
    const oracle::element_rule rule = t.rule(static_cast<std::int64_t>(i));
    if (rule == oracle::element_rule::nan || rule == oracle::element_rule::kept)
      return std::numeric_limits<double>::quiet_NaN();
    const auto [lo, hi] = t.elements[i];
    return lo == hi ? lo : std::midpoint(lo, hi);
  }
  static double low(const oracle::enclosed_tensor& t, std::size_t i) { return t.elements[i].lo; }
  static double high(const oracle::enclosed_tensor& t, std::size_t i) { return t.elements[i].hi; }

  static json::object described(const buffer& b) {
    return {{"type", name_of(b.view().type)},
            {"descr", descr_of(b.view().type)},
            {"shape", json::value_from(shape_of(b.view()))}};
  }

  std::string place(const std::string& kind, const std::string& file, const npy_array& a) const {
    const fs::path at = fs::path(case_.name) / kind / (file + ".npy");
    write_by_rename(folder_ / at, to_npy(a));
    return at.string();
  }

  json::object input(const buffer& b) const {
    json::object o = described(b);
    o["file"] = array("inputs", b);
    return o;
  }

  std::string array(const std::string& kind, const buffer& b) const {
    return place(kind, b.name(), {descr_of(b.view().type), shape_of(b.view()), dense_bytes(b.view())});
  }

  std::string values(const std::string& kind, const std::string& file, const oracle::enclosed_tensor& t,
                     double (*of)(const oracle::enclosed_tensor&, std::size_t)) const {
    std::vector<double> all(t.elements.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = of(t, i);
    return place(kind, file, {"<f8", covered_shape(t), bytes_of(all)});
  }

  static std::vector<std::int64_t> covered_shape(const oracle::enclosed_tensor& t) {
    std::vector<std::int64_t> shape = t.shape;
    if (t.indices && !shape.empty()) shape[0] = std::ssize(*t.indices);
    return shape;
  }

  void add_enclosure(json::object& o, const oracle::enclosed_tensor& t) const {
    o["lo"] = values("enclosure", t.name + ".lo", t, low);
    o["hi"] = values("enclosure", t.name + ".hi", t, high);
    if (!t.kept.empty())
      o["rules"] =
          place("enclosure", t.name + ".rules", {"|u1", covered_shape(t), std::string(t.kept.begin(), t.kept.end())});
    if (t.indices) o["indices"] = json::value_from(*t.indices);
  }

  const exported_case& case_;
  const fs::path& folder_;
  inputs given_;
};

/// Of a manifest: {name, case}.
exported_case read_entry(const json::value& entry, const std::string& origin) {
  const json::object* o = entry.if_object();
  const json::value* name = o == nullptr ? nullptr : o->if_contains("name");
  const json::value* stated = o == nullptr ? nullptr : o->if_contains("case");
  if (name == nullptr || !name->is_string() || stated == nullptr)
    throw case_error(origin + ": a case has no name or no case");
  const std::string text(name->as_string());
  if (text.empty() || fs::path(text).filename() != text || text == "..")
    throw case_error(fmt::format("{}: '{}' is not the name of a folder", origin, text));
  return {text, from_json(json::serialize(*stated), origin + ": " + text)};
}

/// Puts a file's elements into the output; what is wrong with its type or shape, or empty.
std::string take(const fs::path& file, const tensor& to) {
  const npy_array a = from_npy(read_file(file), file.string());
  if (a.descr != descr_of(to.type))
    return fmt::format("{} holds elements of {}, and {} is due", file.string(), a.descr, descr_of(to.type));
  if (a.shape != shape_of(to))
    return fmt::format("{} has the shape ({}), and ({}) is due", file.string(), fmt::join(a.shape, ", "),
                       fmt::join(shape_of(to), ", "));
  store_dense(to, a.bytes);
  return {};
}

checked_case check_one(const exported_case& c, const fs::path& folder) {
  checked_case said{c.name, {}, {}, {}};
  const auto file_of = [&](const std::string& output) { return folder / c.name / "outputs" / (output + ".npy"); };
  inputs given = fill(c.stated);
  bool lacks_in_out = false;
  for (const buffer& b : unwritten_execution(c.stated, given, {}).written.buffers) {
    const bool is_there = fs::exists(file_of(b.name()));
    (is_there ? said.judged : said.missing).push_back(b.name());
    lacks_in_out = lacks_in_out || (!is_there && b.role() == tensor_role::in_out);
  }
  if (said.judged.empty() || lacks_in_out) {
    said.result = discarded(said.judged.empty() ? "no output is there" : "not all that is changed in place is there");
    return said;
  }
  execution ran = unwritten_execution(c.stated, given, said.missing);
  for (buffer& b : ran.written.buffers)
    if (const std::string wrong = take(file_of(b.name()), b.view()); !wrong.empty()) {
      said.result = failed("launch", wrong);
      return said;
    }
  said.result = judge_given(c.stated, given, ran, of_types(ran.planned));
  return said;
}

}  // namespace

std::string too_large_to_export(const attention_case& c) {
  std::vector<planned_tensor> all = plan_tensors(c);
  for (planned_tensor& t : plan_outputs(with_splits(c), {})) all.push_back(std::move(t));
  for (const planned_tensor& t : all) {
    std::int64_t bytes = size_bytes(t.type);
    for (const std::int64_t extent : t.shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
    if (bytes > most_exported_bytes)
      return fmt::format("{} has {} bytes, more than the {} that are written to one file", t.name, bytes,
                         most_exported_bytes);
  }
  return {};
}

void export_cases(const std::vector<exported_case>& cases, const fs::path& folder) {
  for (const exported_case& c : cases)
    if (const std::string why = too_large_to_export(c.stated); !why.empty())
      throw case_error(fmt::format("{}: {}", c.name, why));
  scratch_folder made(folder);
  json::array all;
  progress shown(true);
  for (const exported_case& c : cases) {
    shown.show(fmt::format("{}/{} cases", all.size(), cases.size()));
    all.push_back(case_files(c, made.path()).write());
  }
  shown.clear();
  write_by_rename(made.path() / manifest_name,
                  json::serialize(json::object{{"version", 1}, {"cases", std::move(all)}}) + "\n");
  made.keep();
}

std::vector<checked_case> check_exported(const fs::path& folder) {
  const std::string origin = (folder / manifest_name).string();
  const json::value read = [&] {
    try {
      return parse_json(read_file(folder / manifest_name));
    } catch (const case_error& e) {
      const std::string what = e.what();
      throw case_error(what.starts_with(origin) ? what : origin + ":" + what);
    }
  }();
  const json::object* o = read.if_object();
  const json::value* version = o == nullptr ? nullptr : o->if_contains("version");
  const json::value* cases = o == nullptr ? nullptr : o->if_contains("cases");
  if (version == nullptr || *version != 1 || cases == nullptr || !cases->is_array())
    throw case_error(origin + ": it is no manifest of version 1 (see: assay export --help)");
  std::vector<checked_case> all;
  for (const json::value& entry : cases->as_array()) all.push_back(check_one(read_entry(entry, origin), folder));
  return all;
}

}  // namespace assay
