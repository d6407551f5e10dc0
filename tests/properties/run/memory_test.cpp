// Memory of a run: kernels with planted accesses die in a child, and the verdict says what they touched. And pools of
// any size cost no more than the pages in use.
#include <fmt/format.h>
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "properties/system/worker.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using testing::call;
using testing::small_case;

/// Keeps the compiler from dropping a read.
template <class T>
void touch(const void* at) {
  static_cast<void>(
      *static_cast<const volatile T*>(at));  // NOLINT(clang-analyzer-core.NullDereference): also on purpose
}

const std::byte* bytes_of(const call& c, const char* name, std::int64_t offset) {
  return static_cast<const std::byte*>(c.view(name).data) + offset;
}

/// A library that does something before the built-in kernel runs.
std::shared_ptr<library> touching_library(std::function<void(call&)> before) {
  return testing::faulty_library([before = std::move(before)](call& c) {
    before(c);
    return c.run();
  });
}

verdict judged(const std::shared_ptr<library>& lib, const attention_case& c,
               const property& p = relations::output_enclosed) {
  return isolated_judge(*lib, p, 60)(c);
}

void expect_memory(const verdict& v, const std::string& what) {
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "memory");
  CHECK(v.what == what);
}

/// 64 GiB each of K and V, 128 KiB a page, of which the first, the last and one in the middle are used.
attention_case large_case() {
  attention_case c;
  c.page_size = 1024;
  c.pool_pages = std::int64_t{1} << 19;
  c.scale = 0.125F;
  c.num_splits = 2;
  c.causal = true;
  c.sequences = {{.q = 2, .k = 2048, .prefix_offset = {}, .pages = {c.pool_pages - 1, 0}},
                 {.q = 1, .k = 1000, .prefix_offset = {}, .pages = {77777}}};
  return c;
}

TEST_CASE("one table entry past the end is a fault that is reported", "[memory]") {
  const auto past = [](const char* name) {
    return touching_library([name](call& c) { touch<std::int32_t>(bytes_of(c, name, 4 * c.view(name).size())); });
  };
  attention_case c = small_case();  // two rows of three pages
  expect_memory(judged(past("block_table"), c), "block_table was read past its end, at byte 24 of 24");
  expect_memory(judged(past("seqlens_k"), c), "seqlens_k was read past its end, at byte 8 of 8");
  expect_memory(judged(past("cu_seqlens_q"), c), "cu_seqlens_q was read past its end, at byte 12 of 12");
  c.page_table = page_table_kind::page_list;
  expect_memory(judged(past("page_indices"), c), "page_indices was read past its end, at byte 20 of 20");
}

TEST_CASE("one byte past the end of q, k or v is a fault, though they are loaded in vectors", "[memory]") {
  attention_case fp8 = small_case();
  fp8.kv_type = dtype::e4m3fn;
  fp8.head_dim_v = 80;  // rows of 80 bytes
  for (const attention_case& c : {small_case(), fp8})
    for (const char* name : {"q", "k", "v"}) {
      std::int64_t bytes = 0;
      for (const buffer& b : fill(c).buffers)
        if (b.name() == name) bytes = b.size_bytes();
      const auto past = touching_library([name, bytes](call& of) { touch<char>(bytes_of(of, name, bytes)); });
      expect_memory(judged(past, c), fmt::format("{} was read past its end, at byte {} of {}", name, bytes, bytes));
    }
}

TEST_CASE("a table that is read behind its sequence's last page is seen by table_tail", "[memory]") {
  // As a loop that fetches one entry too many does: harmless while there is a spare entry.
  const auto ahead = touching_library([](call& c) {
    for (std::int64_t s = 0; s < c.stated.num_seqs; ++s)
      c.i32("block_table", s, (c.i32("seqlens_k", s) + c.stated.page_size - 1) / c.stated.page_size);
  });
  attention_case c = small_case();
  relations::table_tail.adapt(c, {});
  CHECK(judged(ahead, c).result == outcome::pass);
  expect_memory(judged(ahead, c, relations::table_tail), "block_table was read past its end, at byte 24 of 24");
}

TEST_CASE("far before its start is a fault too, and the far end of what is read or written is named", "[memory]") {
  expect_memory(judged(touching_library([](call& c) { touch<char>(bytes_of(c, "seqlens_k", -4096)); }), small_case()),
                "seqlens_k was read before its start, at byte -4096 of 8");
  const auto writes = touching_library([](call& c) {
    const tensor o = c.view("o");
    set_bits(o, o.size() + 400, 0);  // behind the canaries
  });
  expect_memory(judged(writes, small_case()), "o was written past its end, at byte 2848 of 2048");
  expect_memory(judged(touching_library([](call&) { touch<char>(nullptr); }), small_case()),
                "a null pointer was read through");
}

TEST_CASE("a page that no sequence uses is a fault in a sparse pool", "[memory]") {
  const auto reads = touching_library([](call& c) { touch<char>(bytes_of(c, "v", 5003 * 131072 + 5)); });
  expect_memory(judged(reads, large_case()),
                "v was read at page 5003, which no sequence uses, at byte 655753221 of 68719476736");
}

TEST_CASE("page offsets of 32 bits are seen by pool_shift", "[memory]") {
  const auto offsets = [](auto narrow) {
    return touching_library([narrow](call& c) {
      for (std::int64_t s = 0; s < c.stated.num_seqs; ++s) {
        const tensor k = c.view("k");
        touch<char>(bytes_of(c, "k", narrow(c.i32("block_table", s) * k.stride[0] * 2)));
      }
    });
  };
  const attention_case c = small_case();  // pages of 4096 bytes; sequence 0 begins on page 3, in 8 pages
  const auto narrow_signed = offsets([](std::int64_t at) { return std::int64_t{static_cast<std::int32_t>(at)}; });
  CHECK(judged(narrow_signed, c).result == outcome::pass);
  expect_memory(judged(narrow_signed, c, relations::pool_shift),
                "k was read before its start, at byte -2147471360 of 2147516416");
  const auto narrow_unsigned = offsets([](std::int64_t at) { return std::int64_t{static_cast<std::uint32_t>(at)}; });
  CHECK(judged(narrow_unsigned, c).result == outcome::pass);
  expect_memory(judged(narrow_unsigned, c, relations::pool_shift),
                "k was read at page 3, which no sequence uses, at byte 12288 of 4295000064");
}

TEST_CASE("a write to an input is reported, whether the input was copied or protected", "[memory]") {
  const auto writes = touching_library([](call& c) {
    const tensor k = c.view("k");
    const std::int64_t at = k.offset(c.i32("block_table", 0), 1);
    set_bits(k, at, bits_at(k, at) ^ 1U);
  });
  expect_memory(judged(writes, small_case()), "input k was written, at byte 12544 of 32768");
  attention_case c = large_case();
  c.heads_kv = c.heads_q = 16;  // 2 MiB a page: too much to copy
  c.pool_pages = 1000;
  c.sequences = {{.q = 1, .k = 2048, .prefix_offset = {}, .pages = {700, 3}},
                 {.q = 1, .k = 3, .prefix_offset = {}, .pages = {9}}};
  expect_memory(judged(writes, c), "input k was written, at byte 1468008448 of 2097152000");
}

TEST_CASE("a fault in another thread is reported as well", "[memory]") {
  const auto reads = touching_library([](call& c) {
    if (c.launch.workers > 1) touch<std::int32_t>(bytes_of(c, "block_table", 24));
  });
  expect_memory(judged(reads, small_case(), relations::wave_schedule),
                "block_table was read past its end, at byte 24 of 24");
}

TEST_CASE("a pool of 64 GiB costs what its pages in use cost", "[memory]") {
  const auto peak_kib = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  isolated child(
      [&](const std::string&) {
        const auto before = peak_kib();
        const verdict v = run_case(*library::built_in(), large_case());
        return std::string(v.result == outcome::pass ? "" : v.what) + std::to_string(peak_kib() - before);
      },
      60);
  const work_result grown = child.ask("");
  REQUIRE(grown.reply.has_value());
  CAPTURE(*grown.reply);
  constexpr long in_use_kib = 2L * 3 * 128;  // K and V, three pages
#if __has_feature(address_sanitizer)
  constexpr long allowed_kib = 256 << 10;  // ASan's shadow, of the access checker's memory too, and its quarantine
#else
  constexpr long allowed_kib = 64 << 10;
#endif
  CHECK(std::stol(*grown.reply) <= in_use_kib + allowed_kib);
}

TEST_CASE("every property works on a sparse pool", "[memory]") {
  for (const char* kernel : {"split_kv", "batch_prefill"})
    for (const property& p : properties()) {
      if (!applies(p, kernel)) continue;
      attention_case c = large_case();
      c.kernel = kernel;
      c.page_size = 16;
      c.pool_pages = std::int64_t{1} << 25;  // 64 GiB in pages of 2 KiB: two share an OS page
      if (c.kernel == "batch_prefill") {
        c.q_type = c.kv_type = dtype::e4m3fn;
        c.kv_descale = descale_kind::per_page;
        c.page_size = 64;
        c.page_table = page_table_kind::page_list;
        c.num_splits = 1;
      }
      const std::int32_t page = c.page_size;
      c.sequences = {{.q = 2, .k = 2 * page + 5, .prefix_offset = {}, .pages = {c.pool_pages - 1, 6, 7}},
                     {.q = 1, .k = page + 4, .prefix_offset = {}, .pages = {1 << 24, 6}}};
      if (p.adapt != nullptr) p.adapt(c, {});
      const verdict v = judged(library::built_in(), c, p);
      CAPTURE(p.name, v.origin, v.what);
      CHECK(v.result == outcome::pass);
    }
}

}  // namespace
}  // namespace assay
