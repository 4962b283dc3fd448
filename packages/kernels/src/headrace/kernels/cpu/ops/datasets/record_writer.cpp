// DatasetToTFRecord: writes the elements of a dataset as a TFRecord file.
#include <optional>

#include "files/deflate.hpp"
#include "files/disk.hpp"
#include "headrace/record_reader.h"
#include "headrace/wire.h"
#include "library/text.hpp"
#include "ops/datasets/record_files.hpp"
#include "ops/datasets/whole_request.hpp"

namespace hr::data {
namespace {

std::string framed(std::string_view record) {
  uint8_t head[HR_RECORD_HEADER_BYTES], tail[4];
  const uint64_t size = record.size();
  for (int i = 0; i < 8; ++i) head[i] = uint8_t(size >> (8 * i));
  const auto put = [](uint8_t* to, uint32_t value) {
    for (int i = 0; i < 4; ++i) to[i] = uint8_t(value >> (8 * i));
  };
  put(head + 8, hr_masked_crc32c(head, 8));
  put(tail, hr_masked_crc32c(reinterpret_cast<const uint8_t*>(record.data()), record.size()));
  std::string bytes(reinterpret_cast<const char*>(head), sizeof head);
  bytes.append(record);
  return bytes.append(reinterpret_cast<const char*>(tail), sizeof tail);
}

const char* const kWrong = "The dataset must have one component, a scalar string.";

struct WriteRecords : WholeRequest {
  using WholeRequest::WholeRequest;
  std::string path, compression;

  void serve(Server& server) override {
    const auto poll = [&server] { server.pipeline().poll(); };
    const remote::WhileWaiting here(poll);
    disk::Output output(path);
    std::string held;  // what is compressed as a whole at the end
    Element element;
    while (server.next(&element)) {
      server.pipeline().poll();
      const std::string bytes = framed(text_at(scalar_result(element, HR_STRING, kWrong), 0));
      if (compression.empty()) output.write(bytes);
      else held += bytes;
    }
    if (compression == "ZLIB") output.write(zlib_compressed(held));
    if (compression == "GZIP") output.write(gzip_compressed(held));
    output.close(false);
  }
};

void write_records(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
                   hr_tensor* const* outputs, hr_done done, void* argument) {
  const Arguments arguments(ctx, node, inputs);
  DatasetRef dataset = arguments.dataset(0);
  if (dataset->spec.types != std::vector<hr_dtype>{HR_STRING}) invalid(kWrong);
  auto request = std::make_unique<WriteRecords>(ctx, done, argument);
  request->path = arguments.text(1, "filename");
  request->compression = compression_of(arguments, 2);
  request->outputs = outputs;
  begin(std::move(request), ctx, dataset);
}

}  // namespace

HR_KERNELS = {
    async_kernel<write_records>("DatasetToTFRecord"),
    async_kernel<write_records>("ExperimentalDatasetToTFRecord"),
};

}  // namespace hr::data
