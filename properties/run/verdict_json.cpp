#include "properties/run/verdict_json.hpp"

#include <boost/json.hpp>

#include "properties/run/execute.hpp"

namespace assay {
namespace {

boost::json::array to_array(const std::vector<named_bite>& teeth) {
  boost::json::array all;
  for (const named_bite& b : teeth)
    all.push_back({b.fault, b.counts.asked, b.counts.seen, b.counts.seen > 0 ? b.counts.smallest : 0});
  return all;
}

std::vector<named_bite> teeth_from(const boost::json::array& all) {
  std::vector<named_bite> teeth;
  for (const boost::json::value& one : all) {
    const boost::json::array& b = one.as_array();
    bite counts{b.at(1).to_number<std::int64_t>(), b.at(2).to_number<std::int64_t>()};
    if (counts.seen > 0) counts.smallest = b.at(3).to_number<double>();
    teeth.push_back({boost::json::value_to<std::string>(b.at(0)), counts});
  }
  return teeth;
}

boost::json::array to_array(const std::vector<other_failure>& others) {
  boost::json::array all;
  for (const other_failure& o : others) all.push_back({o.origin, o.what});
  return all;
}

std::vector<other_failure> others_from(const boost::json::array& all) {
  std::vector<other_failure> others;
  for (const boost::json::value& one : all)
    others.push_back({boost::json::value_to<std::string>(one.as_array().at(0)),
                      boost::json::value_to<std::string>(one.as_array().at(1))});
  return others;
}

std::string text_of(const boost::json::object& o, const char* key) {
  return boost::json::value_to<std::string>(o.at(key));
}

}  // namespace

const char* name_of(outcome result) {
  switch (result) {
    case outcome::pass: return "pass";
    case outcome::fail: return "fail";
    case outcome::discard: return "discard";
    case outcome::undecided: return "undecided";
  }
  return "?";
}

std::string verdict_to_json(const verdict& v) {
  return boost::json::serialize(boost::json::object{{"result", static_cast<int>(v.result)},
                                                    {"origin", v.origin},
                                                    {"what", v.what},
                                                    {"hint", v.hint},
                                                    {"also", to_array(v.also)},
                                                    {"outputs_judged", v.outputs_judged},
                                                    {"outputs_sharp", v.outputs_sharp},
                                                    {"rows_regressed", v.rows_regressed},
                                                    {"lse_regressed", v.lse_regressed},
                                                    {"accesses_checked", v.accesses_checked},
                                                    {"kernel_seconds", v.kernel_seconds},
                                                    {"oracle_seconds", v.oracle_seconds},
                                                    {"reached", v.reached},
                                                    {"teeth", to_array(v.teeth)},
                                                    {"accepted", boost::json::value_from(v.accepted)},
                                                    {"first_load", v.first_load},
                                                    {"could_check", v.could_check},
                                                    {"draw", v.draw},
                                                    {"accuracy", v.accuracy}});
}

verdict verdict_from_json(const std::string& text) {
  const boost::json::value parsed = boost::json::parse(text);
  const boost::json::object& o = parsed.as_object();
  verdict v;
  v.result = static_cast<outcome>(o.at("result").to_number<int>());
  v.origin = text_of(o, "origin");
  v.what = text_of(o, "what");
  v.hint = text_of(o, "hint");
  v.also = others_from(o.at("also").as_array());
  v.outputs_judged = o.at("outputs_judged").to_number<std::int64_t>();
  v.outputs_sharp = o.at("outputs_sharp").to_number<std::int64_t>();
  v.rows_regressed = o.at("rows_regressed").to_number<std::int64_t>();
  v.lse_regressed = o.at("lse_regressed").to_number<std::int64_t>();
  v.accesses_checked = o.at("accesses_checked").to_number<std::int64_t>();
  v.kernel_seconds = o.at("kernel_seconds").to_number<double>();
  v.oracle_seconds = o.at("oracle_seconds").to_number<double>();
  v.reached = o.at("reached").to_number<reach_set>();
  v.accepted = boost::json::value_to<std::map<std::string, std::int64_t>>(o.at("accepted"));
  v.teeth = teeth_from(o.at("teeth").as_array());
  v.first_load = text_of(o, "first_load");
  v.could_check = o.at("could_check").as_bool();
  v.draw = o.at("draw").to_number<std::int64_t>();
  v.accuracy = text_of(o, "accuracy");
  return v;
}

verdict verdict_of(const work_result& result) {
  if (result.reply) return verdict_from_json(*result.reply);
  if (!result.last_words.empty()) return failed(origin_of_fault(result.last_words), result.last_words);
  const bool hung = result.death.starts_with("did not end");
  return failed(hung ? "hang" : "crash", "the process that ran the case " + result.death);
}

}  // namespace assay
