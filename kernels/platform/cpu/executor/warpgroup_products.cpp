#include "kernels/platform/cpu/executor/warpgroup_products.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/platform/cpu/executor/own_in_block.hpp"
#include "kernels/platform/cpu/executor/wave.hpp"
#include "kernels/platform/cpu/matrix_unit/tile_products.hpp"

namespace assay::cpu {
namespace {

constexpr int lanes_of_wave = 32, waves_of_group = 4;
constexpr int row_bytes = 128, chunk_bytes = 16, chunks_of_row = row_bytes / chunk_bytes, swizzled_rows = 8;
constexpr int depth = tile_edge;
constexpr std::uint32_t poison = 0xFFFFFFFF;

/// Sums that products are adding to.
struct sums_under_way {
  float* of_kernel;
  std::vector<float> value;  ///< in atoms, as there
  int products = 0;          ///< that are under way
};

/// A lane's, oldest first, and where its groups end.
struct products {
  std::vector<warpgroup_product> under_way;
  std::vector<std::size_t> group_ends;
  std::vector<sums_under_way> sums;

  sums_under_way& sums_at(float* of_kernel) { return *std::ranges::find(sums, of_kernel, &sums_under_way::of_kernel); }
};

/// Where chunk `chunk` of row `row` lies.
const unsigned char* chunk_at(const lds_matrix& m, int row, int chunk) {
  const int first = m.offset % row_bytes / chunk_bytes, line = m.offset / row_bytes + row;
  return m.rows + line * row_bytes + ((first + chunk) ^ (row % swizzled_rows)) * chunk_bytes;
}

/// Calls visit(address, row, chunk) for the chunks of B: rows of columns with two each, or 16 rows of the reduction.
template <class Visit>
void for_chunks_of_b(const warpgroup_product& p, Visit visit) {
  if (p.b_by_columns) {
    for (int row = 0; row < depth; ++row)
      for (int chunk = 0; chunk < p.columns / 8; ++chunk) {
        lds_matrix strip = p.b;
        strip.rows += chunk / chunks_of_row * p.b.strip_bytes;
        visit(chunk_at(strip, row, chunk % chunks_of_row), row, chunk);
      }
  } else {
    for (int row = 0; row < p.columns; ++row)
      for (int chunk = 0; chunk < 2; ++chunk) visit(chunk_at(p.b, row, chunk), row, chunk);
  }
}
/// Of the 16 rows of A that are the wave's.
template <class Visit>
void for_chunks_of_a(const warpgroup_product& p, Visit visit) {
  if (p.a_words != nullptr) return;
  const int first_row = this_thread->wave % waves_of_group * tile_edge;
  for (int row = 0; row < tile_edge; ++row)
    for (int chunk = 0; chunk < 2; ++chunk) visit(chunk_at(p.a, first_row + row, chunk), row, chunk);
}

/// Tells the checker that the wave reads the operands in LDS, a share by each lane. Rows of B whose wave does not
/// multiply are told by none.
void note_operands(const warpgroup_product& p) {
  const dim3 extent = this_thread->block->block_dim;
  const auto waves = static_cast<int>(extent.x * extent.y * extent.z) / lanes_of_wave;
  int chunk = 0;
  const auto note = [&](const unsigned char* from) {
    if (chunk++ % lanes_of_wave == this_thread->lane) note_load(from, chunk_bytes, p.pc);
  };
  for_chunks_of_a(p, [&](const unsigned char* from, int, int) { note(from); });
  for_chunks_of_b(p, [&](const unsigned char* from, int row, int) {
    if (row % waves == this_thread->wave) note(from);
  });
}

/// Operands of a wave, whole: A[row][k], and B[k][column] of all atoms.
struct gathered {
  std::uint16_t a[tile_edge][depth] = {};
  std::vector<std::array<std::uint16_t, depth>> b;  ///< by columns
};

struct wait_record {
  products* own;
  std::size_t end;  ///< products before it are waited for
};

wait_record& record_of(const wave_records& records, int lane) {
  return *static_cast<wait_record*>(records.lane[lane]);
}

gathered gather(const warpgroup_product& p, const wave_records& records, std::size_t number) {
  gathered all;
  const auto load = [&](const unsigned char* from, auto&& to) {
    std::uint16_t elements[chunk_bytes / 2];
    std::memcpy(elements, from, sizeof elements);
    for (int i = 0; i < chunk_bytes / 2; ++i) to(i) = elements[i];
  };
  for_chunks_of_a(p, [&](const unsigned char* from, int row, int chunk) {
    load(from, [&](int i) -> std::uint16_t& { return all.a[row][chunk * 8 + i]; });
  });
  if (p.a_words != nullptr)
    for (int lane = 0; lane < lanes_of_wave; ++lane) {
      const std::uint32_t* const words = record_of(records, lane).own->under_way[number].a_words;
      for (int i = 0; i < 8; ++i)
        all.a[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i % 2 + i / 4 * 8] =
            static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16));
    }
  all.b.resize(static_cast<std::size_t>(p.atoms) * 8);
  for (std::size_t column = static_cast<std::size_t>(p.columns); column < all.b.size(); ++column)
    all.b[column].fill(0xFFFF);
  for_chunks_of_b(p, [&](const unsigned char* from, int row, int chunk) {
    load(from, [&](int i) -> std::uint16_t& {
      return p.b_by_columns ? all.b[static_cast<std::size_t>(chunk * 8 + i)][static_cast<std::size_t>(row)]
                            : all.b[static_cast<std::size_t>(row)][static_cast<std::size_t>(chunk * 8 + i)];
    });
  });
  return all;
}

/// The product of the wave with that number, for all its lanes.
void multiply(const wave_records& records, std::size_t number) {
  const warpgroup_product& p = record_of(records, 0).own->under_way[number];
  const gathered operands = gather(p, records, number);
  const auto sums_of = [&](int lane) -> std::vector<float>& {
    products& own = *record_of(records, lane).own;
    return own.sums_at(own.under_way[number].sums).value;
  };
  for (int first = 0; first < p.atoms; first += 2) {
    operand_tiles<std::uint16_t> tiles;
    std::memcpy(tiles.a, operands.a, sizeof tiles.a);
    for (int column = 0; column < tile_edge; ++column)
      for (int k = 0; k < depth; ++k)
        tiles.b[k][column] = operands.b[static_cast<std::size_t>(first * 8 + column)][static_cast<std::size_t>(k)];
    float c[tile_edge][tile_edge];
    const auto for_each_sum = [&](auto&& move) {
      for (int lane = 0; lane < lanes_of_wave; ++lane) {
        std::vector<float>& own = sums_of(lane);
        for (int i = 0; i < 8; ++i)  // of two atoms
          move(own[static_cast<std::size_t>(first * 4 + i)],
               c[lane / 4 + i % 4 / 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2]);
      }
    };
    for_each_sum([&](float own, float& tile) { tile = p.adds ? own : 0.0F; });
    multiply_tiles(p.type, tiles, c);
    for_each_sum([](float& own, float tile) { own = tile; });
  }
}

void finish_products(wave_records& records) {
  bool is_whole = true;
  for (int lane = 0; lane < lanes_of_wave; ++lane) is_whole &= records.lane[lane] != nullptr;
  if (!is_whole) {
    for (int lane = 0; lane < lanes_of_wave; ++lane)
      if (records.lane[lane] != nullptr)
        for (sums_under_way& s : record_of(records, lane).own->sums)
          std::ranges::fill(s.value, std::bit_cast<float>(poison));
    return;
  }
  for (std::size_t i = 0; i < record_of(records, 0).end; ++i) multiply(records, i);
}

}  // namespace

[[gnu::noinline]] void begin_product(warpgroup_product product) {
  if (wave_size() != lanes_of_wave) throw std::invalid_argument("wgmma needs waves of 32 lanes");
  product.pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  note_operands(product);
  const own_accesses unnoted(running_thread());
  products& own = own_in_block<products>();
  const auto elements = static_cast<std::size_t>(product.atoms) * 4;
  auto sums = std::ranges::find(own.sums, product.sums, &sums_under_way::of_kernel);
  if (sums == own.sums.end()) {
    own.sums.push_back({product.sums, {product.sums, product.sums + elements}});
    std::memset(product.sums, 0xFF, elements * sizeof *product.sums);
    sums = own.sums.end() - 1;
  }
  ++sums->products;
  own.under_way.push_back(product);
}

void commit_products() {
  const own_accesses unnoted(running_thread());
  products& own = own_in_block<products>();
  own.group_ends.push_back(own.under_way.size());
}

void wait_for_products(int pending, std::source_location where) {
  products& own = own_in_block<products>();
  const std::size_t groups = own.group_ends.size();
  const std::size_t past = groups - std::min(groups, static_cast<std::size_t>(pending));
  wait_record record{&own, past == 0 ? 0 : own.group_ends[past - 1]};
  for (std::size_t i = 0; i < record.end; ++i) note_operands(own.under_way[i]);
  wave_rendezvous("wgmma", where, &record, &finish_products);
  const own_accesses unnoted(running_thread());
  for (std::size_t i = 0; i < record.end; ++i) --own.sums_at(own.under_way[i].sums).products;
  for (const sums_under_way& s : own.sums)
    for (std::size_t i = 0; i < s.value.size(); ++i)
      if (std::bit_cast<std::uint32_t>(s.of_kernel[i]) != poison)
        throw std::invalid_argument("wgmma: sums were written while a product was under way");
  std::erase_if(own.sums, [](const sums_under_way& s) {
    if (s.products == 0) std::ranges::copy(s.value, s.of_kernel);
    return s.products == 0;
  });
  own.under_way.erase(own.under_way.begin(), own.under_way.begin() + static_cast<std::ptrdiff_t>(record.end));
  own.group_ends.erase(own.group_ends.begin(), own.group_ends.begin() + static_cast<std::ptrdiff_t>(past));
  for (std::size_t& end : own.group_ends) end -= record.end;
}

}  // namespace assay::cpu
