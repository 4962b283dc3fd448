#include "discovery/devices.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "device/fork_guard.hpp"
#include "discovery/probe.hpp"

namespace hr::cl {

namespace {

std::string request() {
  const char* text = std::getenv("HEADRACE_OPENCL_DEVICES");
  return text ? text : "";
}

// A device that has passed the probe; null: `problem` says why there is none.
std::unique_ptr<Device> working_device(const Candidate& candidate, std::string* problem) {
  std::unique_ptr<Device> device = open_device(candidate.platform, candidate.id, problem);
  if (!device) return nullptr;
  const Status status = probe(*device);
  if (status.ok()) return device;
  *problem = status.text;
  return nullptr;
}

struct Found {
  std::vector<hr_device*> devices;
  std::mutex mutex;
  std::vector<std::string> problems;

  Found() {
    const std::vector<Candidate> candidates = list_candidates(&problems);
    for (const Candidate* candidate : select_candidates(candidates, request(), &problems)) {
      std::string problem;
      std::unique_ptr<Device> device = working_device(*candidate, &problem);
      if (device) {
        devices.push_back(device.release());
      } else {
        const Traits& traits = candidate->traits;
        problems.push_back("OpenCL device " + std::to_string(candidate->index) + ", '" +
                           traits.name + "' of '" + traits.platform + "' (" +
                           traits.platform_version + "), is not used: " + problem);
      }
    }
  }
};

std::mutex found_mutex;
std::atomic<Found*> found_once{nullptr};  // never freed: threads outlive destructors
const std::vector<hr_device*> nothing;

// Null in a child of a fork: what its parent had found is lost, and another thread of the parent
// may have held the lock.
Found* found() {
  watch_forks();
  if (devices_are_lost()) return nullptr;
  const std::lock_guard<std::mutex> hold(found_mutex);
  if (!found_once.load()) found_once.store(new Found);
  return found_once.load();
}

// A parent that found no device has none to lose. One that was still looking may have some.
bool parent_had_devices() {
  const Found* all = found_once.load();
  return !all || !all->devices.empty();
}

}  // namespace

const std::vector<hr_device*>& devices() {
  const Found* all = found();
  return all ? all->devices : nothing;
}

std::vector<std::string> take_problems() {
  Found* all = found();
  if (!all) {
    if (!parent_had_devices() || !reports_loss()) return {};
    return {std::string("no OpenCL devices: ") + kLost};
  }
  const std::lock_guard<std::mutex> hold(all->mutex);
  return std::exchange(all->problems, {});
}

const char* why_no_devices() { return devices_are_lost() && parent_had_devices() ? kLost : ""; }

std::vector<Report> examine(std::vector<std::string>* problems) {
  std::vector<Report> reports;
  watch_forks();
  if (devices_are_lost()) {
    problems->push_back(kLost);
    return reports;
  }
  const std::vector<Candidate> candidates = list_candidates(problems);
  const std::vector<const Candidate*> selected = select_candidates(candidates, request(), problems);
  for (const Candidate& candidate : candidates) {
    Report report{candidate, false, false, {}};
    report.selected = std::find(selected.begin(), selected.end(), &candidate) != selected.end();
    report.works = working_device(candidate, &report.problem) != nullptr;
    reports.push_back(std::move(report));
  }
  return reports;
}

void finish_all() {
  if (devices_are_lost()) return;
  const std::lock_guard<std::mutex> hold(found_mutex);
  Found* const all = found_once.load();
  if (!all) return;
  for (hr_device* device : all->devices) static_cast<Device*>(device)->stream.finish();
}

}  // namespace hr::cl
