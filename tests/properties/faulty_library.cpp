#include "tests/properties/faulty_library.hpp"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "properties/data/difference.hpp"

namespace assay::testing {
namespace {

std::function<assay_status(call&)>& planted() {
  static std::function<assay_status(call&)> run;
  return run;
}

assay_status_code& refusal() {
  static assay_status_code status = ASSAY_REJECTED;
  return status;
}

const assay_kernel& built_in_kernel() {
  return *library::built_in()->find("split_kv");
}

assay_status plan(const problem* p, std::int64_t budget, assay_plan* out) {
  return built_in_kernel().plan(p, budget, out);
}

assay_status refuse(const problem*, std::int64_t, assay_plan*) {
  return {refusal(), "planted refusal"};
}

assay_status declare(const problem* p, const assay_launch* launch, contract* out) {
  return built_in_kernel().declare(p, launch, out);
}

std::function<void(contract&)>& edited_contract() {
  static std::function<void(contract&)> change;
  return change;
}

assay_status declare_edited(const problem* p, const assay_launch* launch, contract* out) {
  const assay_status status = declare(p, launch, out);
  if (status.code == ASSAY_OK) edited_contract()(*out);
  return status;
}

std::function<void(const problem&, assay_plan&)>& edited_plan() {
  static std::function<void(const problem&, assay_plan&)> change;
  return change;
}

assay_status plan_edited(const problem* p, std::int64_t budget, assay_plan* out) {
  const assay_status status = plan(p, budget, out);
  if (status.code == ASSAY_OK) edited_plan()(*p, *out);
  return status;
}

assay_status run_built_in(const problem* p, const assay_tensor* tensors, std::int32_t count,
                          const assay_launch* launch) {
  return built_in_kernel().run(p, tensors, count, launch);
}

assay_status run(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
  call one(*p, *launch, {tensors, tensors + count});
  return planted()(one);
}

const assay_kernel faulty_kernel{"split_kv", plan, declare, run, nullptr};
const assay_kernel refusing_kernel{"split_kv", refuse, declare, run, nullptr};
const assay_kernel declaring_kernel{"split_kv", plan, declare_edited, run_built_in, nullptr};

const assay_kernel silent_kernel{"split_kv", plan,
                                 [](const problem*, const assay_launch*, contract*) { return assay_status{}; },
                                 run_built_in, nullptr};

const assay_kernel planning_kernel{"split_kv", plan_edited, declare, run_built_in, nullptr};

std::shared_ptr<library> library_of(const assay_kernel& kernel) {
  static std::vector<std::unique_ptr<assay_library>> tables;  // libraries point to them
  tables.push_back(std::make_unique<assay_library>(assay_library ASSAY_LIBRARY("cpu", &kernel, 1)));
  return std::make_shared<library>(tables.back().get(), "faulty");
}

}  // namespace

bool call::has(const std::string& name) const {
  for (const assay_tensor& t : tensors)
    if (name == t.name) return true;
  return false;
}

assay_tensor& call::at(const std::string& name) {
  for (assay_tensor& t : tensors)
    if (name == t.name) return t;
  throw std::out_of_range(name);
}

tensor call::view(const std::string& name) const {
  const assay_tensor& t = const_cast<call*>(this)->at(name);
  tensor v;
  v.data = t.view.data == nullptr ? nullptr : static_cast<std::byte*>(t.view.data) + t.view.byte_offset;
  v.type = static_cast<dtype>(t.type);
  v.rank = t.view.ndim;
  for (int d = 0; d < v.rank; ++d) {
    v.shape[d] = t.view.shape[d];
    v.stride[d] = t.view.strides[d];
  }
  return v;
}

std::int32_t call::i32(const std::string& name, std::int64_t i0, std::int64_t i1) const {
  const tensor t = view(name);
  return static_cast<std::int32_t>(bits_at(t, t.offset(i0, i1)));
}

void call::flip_o() const {
  const tensor o = view("o");
  if (o.size() > 0) set_bits(o, 0, bits_at(o, 0) ^ 1U);
}

assay_status call::run() const {
  return built_in_kernel().run(&stated, tensors.data(), static_cast<std::int32_t>(tensors.size()), &launch);
}

std::shared_ptr<library> faulty_library(std::function<assay_status(call&)> run) {
  planted() = std::move(run);
  return library_of(faulty_kernel);
}

std::shared_ptr<library> corrupting_library(std::function<void(call&)> after) {
  return faulty_library([after = std::move(after)](call& one) {
    const assay_status status = one.run();
    if (status.code == ASSAY_OK) after(one);
    return status;
  });
}

std::shared_ptr<library> declaring_library(std::function<void(contract&)> change) {
  edited_contract() = std::move(change);
  return library_of(declaring_kernel);
}

std::shared_ptr<library> silent_library() {
  return library_of(silent_kernel);
}

std::shared_ptr<library> planning_library(std::function<void(const problem&, assay_plan&)> change) {
  edited_plan() = std::move(change);
  return library_of(planning_kernel);
}

std::shared_ptr<library> refusing_library(assay_status_code status) {
  refusal() = status;
  return library_of(refusing_kernel);
}

attention_case small_case() {
  attention_case c;
  c.heads_q = 4;
  c.heads_kv = 2;
  c.page_size = 16;
  c.pool_pages = 8;
  c.causal = true;
  c.scale = 0.125F;
  c.num_splits = 2;
  c.data.seed = 2;
  c.sequences = {{.q = 2, .k = 20, .prefix_offset = {}, .pages = {3, 1}},
                 {.q = 2, .k = 37, .prefix_offset = {}, .pages = {0, 6, 2}}};
  return c;
}

}  // namespace assay::testing
