/// One page: a whole HTML file that loads nothing, of bounded size.
#pragma once

#include <string>
#include <vector>

namespace assay::html {

/// A page is no larger, whatever it reports.
inline constexpr std::size_t most_page_bytes = 2'000'000;

/// The verdict of a page in its three colours.
enum class mood { pass, fail, open };

/// The first screen: what is verified or what is wrong, and what to do next.
struct page_top {
  std::string title;  ///< of the browser's tab
  mood verdict = mood::open;
  std::string word;                 ///< "VERIFIED", "DEFECT", "NOT VERIFIED"
  std::string sentence;             ///< the verdict in one line
  std::string about;                ///< what ran, with seed
  std::vector<std::string> points;  ///< lines below it: the scope of what is verified, or what is missing
  std::string next;                 ///< what to do next, as a sentence; empty: nothing
  std::string next_command;         ///< the command that does it; may be empty
};

/// Collects sections and leaves out, with a word on it, what would make the page too large.
class page {
 public:
  explicit page(const page_top& top);

  /// Adds a section with its heading; an empty body adds nothing. Returns whether it was added whole.
  bool section(const std::string& id, const std::string& title, const std::string& body);

  /// Bytes that sections may still take.
  std::size_t room() const;

  std::string finish() const;

 private:
  struct part {
    std::string id, title, body;
  };
  std::string head_;
  std::vector<part> parts_;
  std::size_t size_ = 0;
};

}  // namespace assay::html
