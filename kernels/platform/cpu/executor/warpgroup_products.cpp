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

constexpr int lanes_of_wave = 32, waves_of_group = 4, group_threads = waves_of_group * lanes_of_wave;
constexpr int row_bytes = 128, chunk_bytes = 16, chunks_of_row = row_bytes / chunk_bytes, swizzled_rows = 8;
constexpr int reduction_bytes = 2 * chunk_bytes, column_rows = reduction_bytes / 2;
constexpr std::uint32_t poison = 0xFFFFFFFF;

/// Sums that products are adding to.
struct sums_under_way {
  float* of_kernel;
  std::vector<float> value;  ///< in atoms, as there
  int products = 0;          ///< that are under way
};

struct product_under_way {
  warpgroup_product p;
  std::array<std::uint32_t, 4> a_words{};  ///< at the start
  std::uint64_t digest = 0;                ///< of the lane's share of the operands in LDS, at the start
};

/// A lane's, oldest first, and where its groups end.
struct products {
  bool is_started = false;
  std::vector<product_under_way> under_way;
  std::vector<std::size_t> group_ends;
  std::vector<sums_under_way> sums;

  sums_under_way& sums_at(float* of_kernel) { return *std::ranges::find(sums, of_kernel, &sums_under_way::of_kernel); }
};

/// Where chunk `chunk` of row `row` lies.
const unsigned char* chunk_at(const lds_matrix& m, int row, int chunk) {
  const int first = m.offset % row_bytes / chunk_bytes, line = m.offset / row_bytes + row;
  return m.rows + line * row_bytes + ((first + chunk) ^ (row % swizzled_rows)) * chunk_bytes;
}

/// Calls visit(address, row, chunk) for the chunks of B: rows of columns with two each, or 16 rows of the reduction,
/// each of two bytes an element.
template <class Visit>
void for_chunks_of_b(const warpgroup_product& p, Visit visit) {
  if (p.b_by_columns) {
    for (int row = 0; row < column_rows; ++row)
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

int threads_of_block() {
  const dim3 extent = this_thread->block->block_dim;
  return static_cast<int>(extent.x * extent.y * extent.z);
}

/// Tells the checker that the wave reads the operands in LDS, a share by each lane, and returns a digest of all of the
/// lane's share. Of two warpgroups that read the same B each tells of half of it, other warpgroups of nothing: so no
/// byte has readers in two waves. A block's only one tells of all. That stores are published each asks for all.
std::uint64_t note_operands(const warpgroup_product& p) {
  const int wave = this_thread->wave % waves_of_group, group = this_thread->wave / waves_of_group;
  const int telling = threads_of_block() > group_threads ? 2 : 1;
  int chunk = 0;
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a's
  const auto note = [&](const unsigned char* from, bool is_of_wave, bool is_noted) {
    if (chunk++ % lanes_of_wave != this_thread->lane) return;
    if (is_noted) note_load(from, chunk_bytes, p.pc);
    if (is_of_wave) demand_published(from, chunk_bytes, p.pc);
    for (int i = 0; i < chunk_bytes; ++i) digest = (digest ^ from[i]) * 1099511628211U;
  };
  for_chunks_of_a(p, [&](const unsigned char* from, int, int) { note(from, true, true); });
  for_chunks_of_b(p, [&](const unsigned char* from, int row, int) {
    const bool is_of_wave = row % waves_of_group == wave;
    note(from, is_of_wave, is_of_wave && row / waves_of_group % telling == group);
  });
  return digest;
}

std::array<std::uint32_t, 4> words_of(const warpgroup_product& p) {
  std::array<std::uint32_t, 4> words{};
  if (p.a_words != nullptr) std::copy_n(p.a_words, words.size(), words.begin());
  return words;
}

/// What a unit's descriptor can say.
void demand_place(const lds_matrix& m) {
  const std::uint64_t at = shared_number(m.rows);
  constexpr int group_bytes = swizzled_rows * row_bytes;
  if (at % group_bytes != 0 || m.offset / row_bytes % swizzled_rows != 0 || m.offset % (2 * chunk_bytes) != 0 ||
      m.strip_bytes % group_bytes != 0)
    throw std::invalid_argument("wgmma: an operand does not begin at a group of eight rows in LDS");
}

/// Looks at the operands once more: neither the unit's reading early nor its reading late may make a difference.
void demand_operands(const product_under_way& one) {
  if (note_operands(one.p) != one.digest || words_of(one.p) != one.a_words)
    throw std::invalid_argument("wgmma: operands were written while a product was under way");
}

/// Operands of a wave, whole, as bytes: A[row][reduction], and B[column][reduction] of all atoms.
struct gathered {
  std::uint8_t a[tile_edge][reduction_bytes] = {};
  std::vector<std::array<std::uint8_t, reduction_bytes>> b;
};

struct wait_record {
  products* own;
  std::size_t end;       ///< products before it are waited for
  bool differs = false;  ///< from other lanes'
};

wait_record& record_of(const wave_records& records, int lane) {
  return *static_cast<wait_record*>(records.lane[lane]);
}

gathered gather(const warpgroup_product& p, const wave_records& records, std::size_t number) {
  gathered all;
  for_chunks_of_a(p, [&](const unsigned char* from, int row, int chunk) {
    std::memcpy(&all.a[row][chunk * chunk_bytes], from, chunk_bytes);
  });
  if (p.a_words != nullptr)
    for (int lane = 0; lane < lanes_of_wave; ++lane) {
      const auto& words = record_of(records, lane).own->under_way[number].a_words;
      for (int word = 0; word < 4; ++word)
        std::memcpy(&all.a[lane / 4 + word % 2 * 8][word / 2 * chunk_bytes + lane % 4 * 4],
                    &words[static_cast<std::size_t>(word)], sizeof words[0]);
    }
  all.b.resize(static_cast<std::size_t>(p.atoms) * 8);
  for (std::size_t column = static_cast<std::size_t>(p.columns); column < all.b.size(); ++column)
    all.b[column].fill(0xFF);  // NaN
  for_chunks_of_b(p, [&](const unsigned char* from, int row_number, int chunk_number) {
    const auto row = static_cast<std::size_t>(row_number), chunk = static_cast<std::size_t>(chunk_number);
    if (!p.b_by_columns)
      std::memcpy(&all.b[row][chunk * chunk_bytes], from, chunk_bytes);
    else
      for (std::size_t i = 0; i < chunk_bytes / 2; ++i) std::memcpy(&all.b[chunk * 8 + i][2 * row], from + 2 * i, 2);
  });
  return all;
}

/// c += A B of two atoms of columns, from `first` on.
void multiply(const warpgroup_product& p, const gathered& operands, std::size_t first,
              float (&c)[tile_edge][tile_edge]) {
  if (is_fp8(p.type)) {
    fp8_tiles tiles;
    for (int row = 0; row < tile_edge; ++row)
      for (int k = 0; k < fp8_depth; ++k) {
        tiles.a[row][k] = p.code_values[operands.a[row][k]];
        tiles.b[k][row] = p.code_values[operands.b[first + static_cast<std::size_t>(row)][static_cast<std::size_t>(k)]];
      }
    multiply_group_tiles(p.type, tiles, c);
    return;
  }
  operand_tiles<std::uint16_t> tiles;
  std::memcpy(tiles.a, operands.a, sizeof tiles.a);
  for (int column = 0; column < tile_edge; ++column) {
    std::uint16_t reduction[tile_edge];
    std::memcpy(reduction, operands.b[first + static_cast<std::size_t>(column)].data(), sizeof reduction);
    for (int k = 0; k < tile_edge; ++k) tiles.b[k][column] = reduction[k];
  }
  multiply_tiles(p.type, tiles, c);
}

/// The product of the wave with that number, for all its lanes.
void multiply(const wave_records& records, std::size_t number) {
  const warpgroup_product& p = record_of(records, 0).own->under_way[number].p;
  const gathered operands = gather(p, records, number);
  const auto sums_of = [&](int lane) -> std::vector<float>& {
    products& own = *record_of(records, lane).own;
    return own.sums_at(own.under_way[number].p.sums).value;
  };
  for (std::size_t first = 0; first < static_cast<std::size_t>(p.atoms); first += 2) {
    float c[tile_edge][tile_edge];
    const auto for_each_sum = [&](auto&& move) {
      for (int lane = 0; lane < lanes_of_wave; ++lane) {
        std::vector<float>& own = sums_of(lane);
        for (int i = 0; i < 8; ++i)  // of two atoms
          move(own[4 * first + static_cast<std::size_t>(i)],
               c[lane / 4 + i % 4 / 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2]);
      }
    };
    for_each_sum([&](float own, float& tile) { tile = p.adds ? own : 0.0F; });
    multiply(p, operands, 8 * first, c);
    for_each_sum([](float& own, float tile) { own = tile; });
  }
}

bool are_alike(const lds_matrix& a, const lds_matrix& b) {
  return a.rows == b.rows && a.offset == b.offset && a.strip_bytes == b.strip_bytes;
}
bool are_alike(const warpgroup_product& a, const warpgroup_product& b) {
  return a.type == b.type && a.atoms == b.atoms && a.adds == b.adds &&
         (a.a_words == nullptr) == (b.a_words == nullptr) && are_alike(a.a, b.a) && are_alike(a.b, b.b) &&
         a.columns == b.columns && a.b_by_columns == b.b_by_columns;
}
/// Whether all lanes have the like products to wait for.
bool are_alike(const wave_records& records) {
  const wait_record& first = record_of(records, 0);
  for (int lane = 1; lane < lanes_of_wave; ++lane) {
    const wait_record& other = record_of(records, lane);
    if (other.end != first.end) return false;
    for (std::size_t i = 0; i < first.end; ++i)
      if (!are_alike(first.own->under_way[i].p, other.own->under_way[i].p)) return false;
  }
  return true;
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
  if (are_alike(records)) {
    for (std::size_t i = 0; i < record_of(records, 0).end; ++i) multiply(records, i);
  } else {
    for (int lane = 0; lane < lanes_of_wave; ++lane) record_of(records, lane).differs = true;
  }
}

}  // namespace

void start_products() {
  const own_accesses unnoted(running_thread());
  own_in_block<products>().is_started = true;
}

[[gnu::noinline]] void begin_product(warpgroup_product product) {
  if (wave_size() != lanes_of_wave || threads_of_block() % group_threads != 0)
    throw std::invalid_argument("wgmma needs warpgroups: four waves of 32 lanes");
  product.pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (product.a_words == nullptr) demand_place(product.a);
  demand_place(product.b);
  const std::uint64_t digest = note_operands(product);
  const own_accesses unnoted(running_thread());
  products& own = own_in_block<products>();
  if (!own.is_started) throw std::invalid_argument("wgmma: a product without a fence since the last wait");
  const auto elements = static_cast<std::size_t>(product.atoms) * 4;
  auto sums = std::ranges::find(own.sums, product.sums, &sums_under_way::of_kernel);
  if (sums == own.sums.end()) {
    own.sums.push_back({product.sums, {product.sums, product.sums + elements}});
    std::memset(product.sums, 0xFF, elements * sizeof *product.sums);
    sums = own.sums.end() - 1;
  }
  if (sums->value.size() != elements) throw std::invalid_argument("wgmma: sums of products under way overlap");
  ++sums->products;
  own.under_way.push_back({product, words_of(product), digest});
}

void commit_products() {
  const own_accesses unnoted(running_thread());
  products& own = own_in_block<products>();
  own.group_ends.push_back(own.under_way.size());
}

void wait_for_products(int pending, std::source_location where) {
  products& own = own_in_block<products>();
  own.is_started = false;
  const std::size_t groups = own.group_ends.size();
  const std::size_t past = groups - std::min(groups, static_cast<std::size_t>(pending));
  wait_record record{&own, past == 0 ? 0 : own.group_ends[past - 1]};
  for (std::size_t i = 0; i < record.end; ++i) demand_operands(own.under_way[i]);
  wave_rendezvous("wgmma", where, &record, &finish_products);
  if (record.differs) throw std::invalid_argument("wgmma: the lanes of a wave wait for different products");
  const own_accesses unnoted(running_thread());
  for (std::size_t i = 0; i < record.end; ++i) --own.sums_at(own.under_way[i].p.sums).products;
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
