// Files of records, perhaps compressed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "files/byte_source.hpp"
#include "files/inflate.hpp"
#include "ops/datasets/dataset.hpp"

namespace hr::data {

// compression: "", "ZLIB" or "GZIP". Throws Failure.
std::unique_ptr<BufferedInput> open_file(const std::string& path, const std::string& compression);
// Whether one of the files is read by URL: a stage then waits.
bool any_remote(const std::vector<std::string>& paths);
// The `compression_type` of a dataset. Throws InvalidArgument.
std::string compression_of(const Arguments& arguments, int32_t argument);

}  // namespace hr::data
