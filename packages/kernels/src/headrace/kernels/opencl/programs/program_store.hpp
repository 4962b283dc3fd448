// The programs of a device: compiled once in a process, and once in the life of a cache folder.
#ifndef HEADRACE_OPENCL_PROGRAMS_PROGRAM_STORE_HPP
#define HEADRACE_OPENCL_PROGRAMS_PROGRAM_STORE_HPP

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "device/device.hpp"
#include "programs/kernel.hpp"

namespace hr::cl {

class ProgramStore {
 public:
  explicit ProgramStore(Device& device);
  ~ProgramStore();
  ProgramStore(const ProgramStore&) = delete;

  static ProgramStore& of(Device& device);

  // Finds a function of the program that `text` is with these options, under a short name for
  // messages. Waits while another thread builds it. Null: `error` says why.
  const Kernel* find(const std::string& name, const std::string& text, const std::string& options,
                     const std::string& function, std::string* error);

 private:
  struct Program;
  void build(Program* program, const std::string& name, const std::string& text,
             const std::string& options);
  cl_program from_binary(const std::string& binary, const std::string& options);
  cl_program from_source(const std::string& text, const std::string& options, std::string* error);

  Device& device_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs_;  // by options and text
};

// How many programs this process has compiled from their sources.
int64_t builds_from_source();

}  // namespace hr::cl

#endif
