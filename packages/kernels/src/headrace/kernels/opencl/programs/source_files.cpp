#include "programs/source_files.hpp"

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

namespace hr::cl {

namespace {

std::string folder;

bool append_file(const std::string& name, std::set<std::string>* included, std::string* text,
                 std::string* error);

// The lines of a stream, with the files that it includes.
bool append_lines(std::istream& lines, std::set<std::string>* included, std::string* text,
                  std::string* error) {
  for (std::string line; std::getline(lines, line);) {
    const std::string start = "#include \"";
    const size_t end = line.find('"', start.size());
    if (line.compare(0, start.size(), start) == 0 && end != std::string::npos) {
      if (!append_file(line.substr(start.size(), end - start.size()), included, text, error))
        return false;
    } else {
      *text += line + "\n";
    }
  }
  return true;
}

bool append_file(const std::string& name, std::set<std::string>* included, std::string* text,
                 std::string* error) {
  if (!included->insert(name).second) return true;
  const std::string path = folder + "/" + name;
  std::ifstream file(path);
  if (file) return append_lines(file, included, text, error);
  *error = "cannot read " + path + ": reinstall headrace-kernels";
  return false;
}

}  // namespace

void set_source_folder(const std::string& path) { folder = path; }

const std::string* source_file(const std::string& name, std::string* error) {
  static std::mutex mutex;
  static auto* texts = new std::map<std::string, std::string>;
  const std::lock_guard<std::mutex> hold(mutex);
  const auto found = texts->find(name);
  if (found != texts->end()) return &found->second;
  std::string text;
  std::set<std::string> included;
  if (!append_file(name, &included, &text, error)) return nullptr;
  return &(*texts)[name].assign(text);
}

bool with_included_files(std::string* text, std::string* error) {
  if (text->find("#include \"") == std::string::npos) return true;
  std::istringstream lines(*text);
  std::set<std::string> included;
  text->clear();
  return append_lines(lines, &included, text, error);
}

const std::string* prelude(std::string* error) { return source_file("prelude.cl", error); }

}  // namespace hr::cl
