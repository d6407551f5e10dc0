/// Shows what the house looks like, and whether it keeps its rules; tests/layering builds and runs it.
///   --graph   rooms with their floors and sizes, arrows between them, and whether they make a circle
///   --words   ceilings of tests/words.txt, as the sources have them now
///   --long N  functions of more than N lines
#include <iostream>
#include <set>

#include "tests/layering.hpp"

namespace {

using namespace assay::layering;

struct room_size {
  std::size_t files = 0;
  std::size_t lines = 0;
};

std::map<std::string, room_size> sizes_of(const std::vector<source>& sources) {
  std::map<std::string, room_size> sizes;
  for (const source& s : sources) {
    room_size& size = sizes[room_of(s.path)];
    ++size.files;
    size.lines += s.lines.size();
  }
  return sizes;
}

void show_rooms(const std::map<std::string, room_size>& sizes) {
  std::multimap<height, std::string, std::greater<>> by_height;
  for (const auto& [room, size] : sizes) by_height.emplace(height_of(room).value_or(height{-1, -1}), room);
  std::cout << "floor  files  lines  room\n";
  for (const auto& [at, room] : by_height) {
    char line[32];
    std::snprintf(line, sizeof line, "%5d  %5zu  %5zu  ", at.floor, sizes.at(room).files, sizes.at(room).lines);
    std::cout << line << room << '\n';
  }
}

void show_share_of_biggest(const std::map<std::string, room_size>& sizes) {
  std::size_t total = 0, biggest = 0;
  std::string name;
  for (const auto& [room, size] : sizes) {
    if (area_of(room) != "properties") continue;
    total += size.lines;
    if (size.lines <= biggest) continue;
    biggest = size.lines;
    name = room;
  }
  if (total > 0) std::cout << name << " has " << biggest * 100 / total << "% of the lines of properties/\n";
}

int show_graph(const std::vector<source>& sources) {
  const std::map<std::string, room_size> sizes = sizes_of(sources);
  const arrows all = arrows_between(sources);
  show_rooms(sizes);
  std::cout << '\n';
  for (const auto& [arrow, count] : all) std::cout << arrow.first << " -> " << arrow.second << "  " << count << '\n';
  std::cout << '\n' << sizes.size() << " rooms, " << all.size() << " arrows\n";
  show_share_of_biggest(sizes);
  const std::vector<std::string> circle = circle_in(all);
  if (circle.empty()) std::cout << "no circle\n";
  if (!circle.empty()) {
    std::cout << "circle: ";
    for (const std::string& room : circle) std::cout << room << " -> ";
    std::cout << circle.front() << '\n';
  }
  const std::vector<std::string> broken = broken_includes(sources);
  for (const std::string& line : broken) std::cout << line << '\n';
  return circle.empty() && broken.empty() ? 0 : 1;
}

int show_words(const std::filesystem::path& root) {
  const word_rules rules = read_word_rules(root / "tests" / "words.txt");
  for (const auto& [what, count] : count_words(texts_below(root), rules))
    std::cout << "ceiling " << what.first << ' ' << what.second << ' ' << count << '\n';
  return 0;
}

int show_long_functions(const std::vector<source>& sources, std::size_t most) {
  int found = 0;
  for (const source& s : sources)
    for (const function_length& f : functions_of(s)) {
      if (f.lines <= most) continue;
      std::cout << f.path << ':' << f.line << ": " << f.lines << " lines\n";
      found = 1;
    }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string option = argc > 2 ? argv[2] : "";
  const std::filesystem::path root = argc > 1 ? argv[1] : ".";
  if (option == "--graph") return show_graph(code_below(root));
  if (option == "--words") return show_words(root);
  if (option == "--long") return show_long_functions(code_below(root), argc > 3 ? std::stoul(argv[3]) : 70);
  std::cerr << "usage: tests/layering --graph | --words | --long [LINES]\n";
  return 2;
}
