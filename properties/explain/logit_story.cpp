#include "properties/explain/logit_story.hpp"

#include <fmt/format.h>

#include "oracle/explain_logit.hpp"

namespace assay {

std::string logit_lines(const detailed_run& run, std::int64_t row, std::int64_t column) {
  constexpr int most_heads = 8;
  const problem& p = run.ran.planned;
  const oracle::logit_story story = oracle::explain_logit(p, run.given.tensors(), row, column, most_heads);
  std::string text = fmt::format("  sequence {}, query row {} of {}, sees keys [0, {}) of {}\n", story.sequence,
                                 story.row_in_sequence, p.max_q, story.visible_end, story.context);
  if (!story.is_visible)
    return text + (p.fills_hidden != 0 ? "  the column is hidden: it becomes -inf\n"
                                       : "  the column is hidden: the kernel must not write it\n");
  text += fmt::format("  key {} (page {}, slot {}): scale {:.6g}, logit {:.6g}, {} of {} heads positive\n", column,
                      story.page, story.slot, story.key_scale, story.value, story.positive_heads, p.heads_q);
  for (const oracle::head_share& h : story.heads)
    text += fmt::format("    head {}: dot product {:.6g}, weight {:.6g}, adds {:.6g}\n", h.head, h.dot, h.weight,
                        h.contribution);
  return text;
}

}  // namespace assay
