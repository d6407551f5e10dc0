#include "properties/suite/problem_json.hpp"

#include <boost/describe.hpp>
#include <boost/json.hpp>

#include "properties/case/case.hpp"

namespace assay {
namespace {

template <class Enum>
const char* name_in(Enum value) {
  return boost::describe::enum_to_string(value, "unknown");
}

}  // namespace

boost::json::object problem_to_json(const problem& p) {
  boost::json::object o{{"operation", operation_names[static_cast<std::size_t>(p.operation)]}};
#define ASSAY_NAMED(field) o[#field] = name_in(p.field);
  ASSAY_NAMED(q_type)
  ASSAY_NAMED(k_type)
  ASSAY_NAMED(v_type)
  ASSAY_NAMED(o_type)
  ASSAY_NAMED(bias_type)
  ASSAY_NAMED(page_table)
  ASSAY_NAMED(batching)
  ASSAY_NAMED(kv_descale)
  ASSAY_NAMED(k_order)
  ASSAY_NAMED(split_contexts)
  ASSAY_NAMED(rotary)
#undef ASSAY_NAMED
#define ASSAY_NUMBER(field) o[#field] = p.field;
  ASSAY_NUMBER(num_seqs)
  ASSAY_NUMBER(total_q)
  ASSAY_NUMBER(max_q)
  ASSAY_NUMBER(max_k)
  ASSAY_NUMBER(heads_q)
  ASSAY_NUMBER(heads_kv)
  ASSAY_NUMBER(head_dim_qk)
  ASSAY_NUMBER(head_dim_v)
  ASSAY_NUMBER(page_size)
  ASSAY_NUMBER(num_pages)
  ASSAY_NUMBER(window)
  ASSAY_NUMBER(num_splits)
  ASSAY_NUMBER(max_model_len)
  ASSAY_NUMBER(scale)
  ASSAY_NUMBER(q_scale)
  ASSAY_NUMBER(k_scale)
  ASSAY_NUMBER(v_scale)
  ASSAY_NUMBER(soft_cap)
#undef ASSAY_NUMBER
  o["causal"] = p.causal != 0;
  o["fills_hidden"] = p.fills_hidden != 0;
  return o;
}

}  // namespace assay
