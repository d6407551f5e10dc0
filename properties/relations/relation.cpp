#include "properties/relations/relation.hpp"

namespace assay::relations {

relation::relation(const property& p, const library& lib, const attention_case& c)
    : property_(p), lib_(lib), given_(fill(c)), base_(execute(lib, c, given_)) {
  if (auto v = verdict_of(base_)) result_ = std::move(*v);
  result_.kernel_seconds = base_.seconds;
}

std::optional<execution> relation::run(inputs& edited, const attention_case& how, const std::string& change,
                                       int workers) {
  if (decided()) return std::nullopt;
  edited.stated.num_splits = base_.planned.num_splits;
  execution ran = execute(lib_, how, edited, workers);
  result_.kernel_seconds += ran.seconds;
  if (auto v = verdict_of(ran)) {
    if (v->result == outcome::discard) {
      fail("after " + change + " the library says: " + v->what);
    } else {
      v->kernel_seconds = result_.kernel_seconds;
      v->what = "after " + change + ": " + v->what;
      result_ = std::move(*v);
    }
    return std::nullopt;
  }
  return ran;
}

void relation::expect_same_bits(inputs& edited, const attention_case& how, const std::string& change, int workers) {
  if (const auto ran = run(edited, how, change, workers)) compare(base_.written, ran->written, change);
}

void relation::compare(const outputs& before, const outputs& after, const std::string& change) {
  if (decided()) return;
  if (const auto difference = first_difference(before, after)) fail("after " + change + " " + *difference);
}

void relation::fail(const std::string& what) {
  if (decided()) return;
  const double seconds = result_.kernel_seconds;
  result_ = failed(property_.name, what);
  result_.kernel_seconds = seconds;
}

void relation::discard(const std::string& reason) {
  if (decided()) return;
  const double seconds = result_.kernel_seconds;
  result_ = discarded(reason);
  result_.kernel_seconds = seconds;
}

}  // namespace assay::relations
