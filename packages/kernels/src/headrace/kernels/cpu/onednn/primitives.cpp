#if HR_WITH_ONEDNN

#include "onednn/primitives.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace hr::onednn {

const dnnl::engine& engine() {
  // Never destroyed: sessions may end after static destructors have run.
  static dnnl::engine* one = [] {
    // The runtime keeps what it prepared by node and shapes; 1,024 primitives more, oneDNN's own
    // default, only cost memory (80 KB each) where every step brings a new batch size.
    if (!std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")) dnnl::set_primitive_cache_capacity(64);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *one;
}

namespace {

dnnl_stream_t stream() {
  static thread_local dnnl::stream own(engine());
  return own.get();
}

size_t rounded(size_t bytes) { return (bytes + 63) & ~size_t(63); }

}  // namespace

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

namespace {

struct PackedValues {
  std::mutex lock;
  std::unordered_multimap<size_t, std::weak_ptr<const dnnl::memory>> by_hash;
};

bool same_values(const dnnl::memory& a, const dnnl::memory& b) {
  return a.get_desc() == b.get_desc() &&
         !std::memcmp(a.get_data_handle(), b.get_data_handle(), a.get_desc().get_size());
}

}  // namespace

std::shared_ptr<const dnnl::memory> packed(const desc& from, const void* data,
                                           const desc& preferred) {
  static auto* all = new PackedValues;  // as the engine: never destroyed
  dnnl::memory source(from, engine(), const_cast<void*>(data));
  auto created = std::make_shared<dnnl::memory>(preferred, engine());
  const size_t bytes = preferred.get_size();
  std::memset(created->get_data_handle(), 0, bytes);  // a blocked layout's padding, too
  dnnl::stream on(engine());
  dnnl::reorder(source, *created).execute(on, source, *created);
  on.wait();
  // The first few values tell most tensors apart; all are compared where these are the same.
  const size_t hash = std::hash<std::string_view>()(
      {static_cast<const char*>(created->get_data_handle()), std::min<size_t>(bytes, 4096)});
  std::vector<std::shared_ptr<const dnnl::memory>> alike;
  std::lock_guard guard(all->lock);
  for (auto i = all->by_hash.begin(); i != all->by_hash.end();) {
    auto other = i->second.lock();
    if (other && i->first == hash) alike.push_back(std::move(other));
    i = i->second.expired() ? all->by_hash.erase(i) : std::next(i);
  }
  for (auto& other : alike) {
    if (same_values(*other, *created)) return other;
  }
  all->by_hash.emplace(hash, created);
  return created;
}

struct Program::Frame {
  std::vector<dnnl::memory> memories;
  std::vector<dnnl::memory> scratchpads;  // by step; empty where a step needs none
  std::vector<std::vector<dnnl_exec_arg_t>> args;
  Frame* next = nullptr;
};

Program::~Program() {
  while (Frame* frame = frames_) {
    frames_ = frame->next;
    delete frame;
  }
}

int Program::external(int index, const desc& d) {
  memories_.push_back({d, index, 0, nullptr});
  return static_cast<int>(memories_.size()) - 1;
}

int Program::constant(std::shared_ptr<const dnnl::memory> memory) {
  desc d = memory->get_desc();
  memories_.push_back({std::move(d), -1, 0, std::move(memory)});
  return static_cast<int>(memories_.size()) - 1;
}

int Program::scratch(const desc& d) {
  memories_.push_back({d, -1, workspace_, nullptr});
  workspace_ += rounded(d.get_size());
  return static_cast<int>(memories_.size()) - 1;
}

int Program::reordered(int memory, const desc& preferred) {
  if (memories_[memory].d == preferred) return memory;
  int to = scratch(preferred);
  copy(memory, to);
  return to;
}

void Program::copy(int from, int to) {
  dnnl::reorder::primitive_desc pd(engine(), memories_[from].d, engine(), memories_[to].d,
                                   attributes());
  append(dnnl::reorder(pd), pd.scratchpad_desc().get_size(),
         {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Program::append(dnnl::primitive p, size_t scratchpad, std::vector<std::pair<int, int>> args) {
  if (rounded(scratchpad) > scratchpad_) scratchpad_ = rounded(scratchpad);
  steps_.push_back({std::move(p), std::move(args), scratchpad > 0});
}

Program::Frame* Program::borrow() const {
  while (busy_.test_and_set(std::memory_order_acquire)) {}
  Frame* frame = frames_;
  if (frame) frames_ = frame->next;
  busy_.clear(std::memory_order_release);
  if (frame) return frame;
  try {
    frame = new Frame;
    for (const Memory& m : memories_) frame->memories.emplace_back(m.d, engine(), nullptr);
    desc pad({static_cast<int64_t>(scratchpad_)}, dnnl::memory::data_type::u8, tag::a);
    if (scratchpad_) frame->scratchpads.emplace_back(pad, engine(), nullptr);
    for (const Step& step : steps_) {
      std::vector<dnnl_exec_arg_t> args;
      for (auto [number, memory] : step.args) {
        args.push_back({number, frame->memories[memory].get()});
      }
      if (step.scratchpad) args.push_back({DNNL_ARG_SCRATCHPAD, frame->scratchpads[0].get()});
      frame->args.push_back(std::move(args));
    }
    return frame;
  } catch (...) {
    delete frame;
    return nullptr;
  }
}

void Program::give_back(Frame* frame) const {
  while (busy_.test_and_set(std::memory_order_acquire)) {}
  frame->next = frames_;
  frames_ = frame;
  busy_.clear(std::memory_order_release);
}

hr_code Program::run(hr_ctx* ctx, void* const* external, void* workspace) const {
  Frame* frame = borrow();
  if (!frame) return hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "oneDNN made no memory objects");
  char* base = static_cast<char*>(workspace);
  dnnl_status_t status = dnnl_success;
  for (size_t i = 0; i < memories_.size() && status == dnnl_success; ++i) {
    const Memory& m = memories_[i];
    void* at = m.constant       ? m.constant->get_data_handle()
               : m.external < 0 ? base + m.offset
                                : external[m.external];
    status = dnnl_memory_set_data_handle(frame->memories[i].get(), at);
  }
  if (scratchpad_ && status == dnnl_success) {
    status = dnnl_memory_set_data_handle(frame->scratchpads[0].get(), base + workspace_);
  }
  if (status == dnnl_success) {
    PoolSize pool(threads_);
    dnnl_stream_t on = stream();
    for (size_t i = 0; i < steps_.size() && status == dnnl_success; ++i) {
      status =
          dnnl_primitive_execute(steps_[i].primitive.get(), on,
                                 static_cast<int>(frame->args[i].size()), frame->args[i].data());
    }
  }
  give_back(frame);
  if (status != dnnl_success) {
    return hr_ctx_fail(ctx, HR_INTERNAL, "oneDNN returned status %d", static_cast<int>(status));
  }
  return HR_OK;
}

}  // namespace hr::onednn

#endif
