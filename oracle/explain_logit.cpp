#include "oracle/explain_logit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "oracle/paging.hpp"

namespace assay::oracle {

logit_story explain_logit(const problem& planned, std::span<const named_tensor> inputs, std::int64_t row,
                          std::int64_t column, int top) {
  if (row < 0 || row >= planned.total_q || column < 0 || column >= planned.max_model_len)
    throw std::invalid_argument("oracle: no such logit");
  const problem_view view(planned, inputs);
  logit_story story;
  story.sequence = view.sequence_of(row);
  story.row_in_sequence = row - view.first_row(story.sequence);
  story.context = view.key_count(story.sequence);
  story.visible_end = std::max<std::int64_t>(0, view.visible(story.sequence, story.row_in_sequence).end);
  story.is_visible = column < story.visible_end;
  if (!story.is_visible) return story;

  const key_place at = view.place(story.sequence, column);
  story.page = at.page;
  story.slot = at.slot;
  story.key_scale = view.key_scale(at);
  std::vector<double> q(static_cast<std::size_t>(planned.head_dim_qk)), k(q);
  view.load_key(at, 0, k.data());
  for (std::int64_t head = 0; head < planned.heads_q; ++head) {
    view.load_query(row, head, q.data());
    head_share h{head, std::inner_product(q.begin(), q.end(), k.begin(), 0.0), view.weight(row, head), 0};
    if (!(h.dot <= 0)) {  // a NaN shows
      ++story.positive_heads;
      h.contribution = story.key_scale * h.weight * h.dot;
    }
    story.value += h.contribution;
    story.heads.push_back(h);
  }
  const auto magnitude = [](const head_share& h) {
    return std::isnan(h.contribution) ? std::numeric_limits<double>::infinity() : std::fabs(h.contribution);
  };
  std::ranges::sort(story.heads, [&](const head_share& a, const head_share& b) {
    const double x = magnitude(a), y = magnitude(b);
    return x != y ? x > y : a.head < b.head;
  });
  story.heads.resize(std::min(story.heads.size(), static_cast<std::size_t>(std::max(0, top))));
  return story;
}

}  // namespace assay::oracle
