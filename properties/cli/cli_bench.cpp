#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/suite/bench.hpp"
#include "properties/suite/device_bench.hpp"
#include "properties/system/write_file.hpp"

namespace assay {

std::string bench_text(const bench_result& b) {
  std::string text = fmt::format(
      "enclosure of o or logits, head_dim 128, normal data, 1,024 keys (2,048 where Q is FP8):\n{:<20} {:>14} {:>14} "
      "{:>8} "
      "{:>12}\n",
      "types", "median radius", "p99 radius", "sharp", "ambiguous P");
  for (const sharpness& s : b.sharp)
    text += fmt::format("{:<20} {:>10.4f} ulp {:>10.4f} ulp {:>7.2f}% {:>11.2f}%\n", s.types, s.median_radius_ulp,
                        s.p99_radius_ulp, 100 * s.sharp_share, 100 * s.ambiguous_p_share);
  text +=
      fmt::format("default suite   {:.1f} cases/s per core; the contract oracle takes {:.2f} of the kernel's time\n",
                  b.suite.cases_per_second(), b.suite.oracle_per_kernel());
  text += fmt::format(
      "checked         {:.2g} loads and stores; {:.1f} times the unchecked kernels' time, {:.1f} times that of the "
      "whole "
      "suite ({:.1f} cases/s per core unchecked)\n",
      static_cast<double>(b.suite.accesses_checked), b.suite.kernel_seconds / b.unchecked_suite.kernel_seconds,
      b.suite.seconds / b.unchecked_suite.seconds, b.unchecked_suite.cases_per_second());
  text +=
      fmt::format("tiny cases      {:.0f} cases/s per core; the contract oracle takes {:.2f} of the kernel's time\n",
                  b.tiny.cases_per_second(), b.tiny.oracle_per_kernel());
  text += fmt::format("exact oracle    {:.1f} times slower than the contract's ({:.3f} s against {:.3f} ms)\n",
                      b.exact_seconds / b.contract_seconds, b.exact_seconds, 1e3 * b.contract_seconds);
  text += fmt::format("without rounding of P, {} of {} enclosures hold the exact value\n", b.unquantised_contained,
                      b.unquantised_elements);
  return text + fmt::format("fiber switch    {:.1f} ns\n", 1e9 * b.switch_seconds);
}

namespace {

boost::json::object to_object(const throughput& t) {
  return {{"cases", t.cases},
          {"seconds", t.seconds},
          {"accesses_checked", t.accesses_checked},
          {"kernel_seconds", t.kernel_seconds},
          {"oracle_seconds", t.oracle_seconds},
          {"cases_per_second", t.cases_per_second()},
          {"oracle_per_kernel", t.oracle_per_kernel()}};
}

}  // namespace

std::string bench_json(const bench_result& b) {
  boost::json::array sharp;
  for (const sharpness& s : b.sharp)
    sharp.push_back(boost::json::object{{"types", s.types},
                                        {"elements", s.elements},
                                        {"median_radius_ulp", s.median_radius_ulp},
                                        {"p99_radius_ulp", s.p99_radius_ulp},
                                        {"sharp_share", s.sharp_share},
                                        {"ambiguous_p_share", s.ambiguous_p_share}});
  return boost::json::serialize(boost::json::object{{"version", 1},
                                                    {"sharpness", std::move(sharp)},
                                                    {"suite", to_object(b.suite)},
                                                    {"unchecked_suite", to_object(b.unchecked_suite)},
                                                    {"tiny", to_object(b.tiny)},
                                                    {"exact_seconds", b.exact_seconds},
                                                    {"contract_seconds", b.contract_seconds},
                                                    {"unquantised_elements", b.unquantised_elements},
                                                    {"unquantised_contained", b.unquantised_contained},
                                                    {"switch_seconds", b.switch_seconds}}) +
         "\n";
}

namespace {

struct bench_arguments {
  library_options from;
  std::string json;
  int launches = 20;
  std::vector<std::string> shapes;
};

/// Those that are asked for. Throws usage_error where there is none.
std::vector<bench_shape> wanted_shapes(const library& lib, const bench_arguments& given) {
  std::vector<bench_shape> shapes = bench_shapes(lib);
  for (const std::string& text : given.shapes)
    std::erase_if(shapes, [&](const bench_shape& s) { return !mentions(s, text); });
  if (shapes.empty() && !given.shapes.empty())
    throw usage_error(fmt::format("--shape: no shape of {} has {} in its name, kernel or types", lib.path(),
                                  fmt::join(given.shapes, ", ")));
  return shapes;
}

int bench(const bench_arguments& given, const cli_context& context) {
  require_place("--json", given.json);
  if (std::ranges::count(given.shapes, std::string()) > 0) throw usage_error("--shape: the text is empty");
  const auto lib = given.from.open(context);
  if (lib->tensors_on() != kDLCPU) {
    const device_bench_result result = measure_device(*lib, wanted_shapes(*lib, given), given.launches);
    context.out << device_bench_text(result);
    if (!given.json.empty()) write_by_rename(given.json, device_bench_json(result));
    return exit_verified;
  }
  if (!given.shapes.empty()) throw usage_error("--shape is for kernels on a GPU");
  library_options unchecked = given.from;
  unchecked.unchecked = true;
  const bench_result result = measure(*lib, *unchecked.open(context));
  context.out << bench_text(result);
  if (!given.json.empty()) write_by_rename(given.json, bench_json(result));
  return exit_verified;
}

}  // namespace

void add_bench(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<bench_arguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the cost of verification and the width of the enclosures; on a GPU, the kernels");
  given->from.add_to(*command);
  command->add_option("--json", given->json, "Write the results to this file as JSON. Missing folders are created");
  command
      ->add_option("--launches", given->launches,
                   "Launches of each shape on a GPU, after a quarter as many that are not timed")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
  command->add_option(
      "--shape", given->shapes,
      "Measure only the shapes on a GPU whose name, kernel or types have this text, such as \"decode 16\" "
      "or bf16/e4m3fn. May be repeated: then all of the texts");
  command->footer(
      "Of kernels on a GPU it measures how fast they are: decoding, prefill, logits and appended rows of large models, "
      "each launch by the device's events, in a queue of launches, beside copies within the device in the same run: "
      "one of 1 GiB, and one that reads and writes as many bytes as the shape.");
  command->callback([given, &context, &status] { status = bench(*given, context); });
}

}  // namespace assay
