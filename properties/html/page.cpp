#include "properties/html/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/html/markup.hpp"
#include "properties/html/style.hpp"

namespace assay::html {
namespace {

constexpr std::size_t room_for_frame = 4000;  ///< navigation and the end
constexpr std::size_t room_for_heading = 400;

const char* class_of(mood verdict) {
  switch (verdict) {
    case mood::pass: return "pass";
    case mood::fail: return "fail";
    case mood::open: break;
  }
  return "open";
}

std::string head_of(const page_top& top) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      style_hash(), text(top.title, 300), style_sheet());
}

std::string points_of(const page_top& top) {
  constexpr std::size_t most_points = 40;
  std::string items;
  for (std::size_t i = 0; i < std::min(top.points.size(), most_points); ++i)
    items += fmt::format("<li>{}</li>\n", text(top.points[i], 1500));
  return items.empty() ? items : "<ul>\n" + items + "</ul>\n";
}

std::string header_of(const page_top& top) {
  std::string page = fmt::format(
      "<header>\n<p class=\"soft\">Assay report</p>\n<h1><span class=\"verdict {}\">{}</span> {}</h1>\n<p>{}</p>\n",
      class_of(top.verdict), text(top.word, 40), text(top.sentence, 1000), text(top.about, 1000));
  std::string next;
  if (!top.next.empty()) next += fmt::format("<p><strong>What to do next:</strong> {}</p>\n", text(top.next));
  if (!top.next_command.empty()) next += command(top.next_command);
  // What is missing may be a long list, so that it stands last.
  return page + (top.verdict == mood::open ? next + points_of(top) : points_of(top) + next) + "</header>\n";
}

}  // namespace

page::page(const page_top& top)
    : head_(head_of(top) + "<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n" + header_of(top)) {
  size_ = head_.size() + room_for_frame;
}

std::size_t page::room() const {
  return size_ + room_for_heading < most_page_bytes ? most_page_bytes - size_ - room_for_heading : 0;
}

bool page::section(const std::string& id, const std::string& title, const std::string& body) {
  if (body.empty()) return true;
  const bool fits = body.size() <= room();
  static const std::string left_out = "<p>Left out: the page would be too large. The JSON report has it.</p>\n";
  if (!fits && left_out.size() > room()) return false;
  parts_.push_back({id, title, fits ? body : left_out});
  size_ += parts_.back().body.size() + room_for_heading;
  return fits;
}

std::string page::finish() const {
  std::string all = head_;
  if (!parts_.empty()) {
    all += "<nav aria-label=\"Sections\">\n<ul>\n";
    for (const part& p : parts_) all += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", text(p.id), text(p.title));
    all += "</ul>\n</nav>\n";
  }
  all += "<main id=\"main\" tabindex=\"-1\">\n";
  for (const part& p : parts_)
    all += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"heading-{0}\">\n<h2 id=\"heading-{0}\">{1}</h2>\n{2}"
        "</section>\n",
        text(p.id), text(p.title), p.body);
  return all + "</main>\n</body>\n</html>\n";
}

}  // namespace assay::html
