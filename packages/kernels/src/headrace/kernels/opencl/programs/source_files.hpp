// The files of sources/, as the compiler gets them.
#ifndef HEADRACE_OPENCL_PROGRAMS_SOURCE_FILES_HPP
#define HEADRACE_OPENCL_PROGRAMS_SOURCE_FILES_HPP

#include <string>

namespace hr::cl {

// Where sources/ is: said once, when the library is loaded.
void set_source_folder(const std::string& path);

// The text of a file. Lines `#include "name.cl"` are replaced by that file of sources/, once: some
// compilers find no files, and a program's key must cover all of its text. Null: `error` says why.
const std::string* source_file(const std::string& name, std::string* error);

// Does the same with the lines of a text that was generated. False: `error` says why.
bool with_included_files(std::string* text, std::string* error);

// prelude.cl, which stands before every program; null as above.
const std::string* prelude(std::string* error);

}  // namespace hr::cl

#endif
