// A link to an endpoint of this process, perhaps the same one: a frame is a call, and a tensor
// passes by reference.
#pragma once
#include "native/link.hpp"
#include "native/tensor_payload.hpp"

namespace headrace::distributed {

class LocalLink : public Link {
 public:
  explicit LocalLink(const std::shared_ptr<Receiver>& receiver)
      : receiver_(receiver), memory_(receiver->memory()) {}

  const char* plane() const override { return "local"; }

  // The link of the other side, by which it answers.
  void pair(const std::shared_ptr<LocalLink>& other, const std::shared_ptr<Receiver>& theirs) {
    other_ = other;
    theirs_ = theirs;
  }

  void send(const Message* messages, size_t n) override {
    auto theirs = theirs_.lock();
    auto other = other_.lock();
    if (!theirs || !other) return;
    for (size_t i = 0; i < n && !dead && !other->dead; ++i) {
      counts.frames_sent.fetch_add(1, std::memory_order_relaxed);
      other->counts.frames_received.fetch_add(1, std::memory_order_relaxed);
      pass(*theirs, other, messages[i]);
    }
  }

 protected:
  void stop() noexcept override {
    if (auto receiver = receiver_.lock()) receiver->on_dead();
    if (auto other = other_.lock()) other->fail("the other side has closed it");
  }

 private:
  void pass(Receiver& theirs, const LinkRef& other, const Message& message) {
    const FrameHeader& header = message.header;
    Value value;
    if (header.type == FrameType::kTensor && !theirs.wants(header)) return;
    if (message.value) {
      value = Value::shared_into(*message.value, memory_, theirs.memory());
      if (value.empty()) return theirs.on_no_memory(other, header, message.value->bytes);
    }
    std::string text;
    if (message.text) text.assign(message.text, message.text_size);
    theirs.on_frame(other, header, std::move(value), std::move(text));
  }

  const std::weak_ptr<Receiver> receiver_;
  std::weak_ptr<Receiver> theirs_;
  std::weak_ptr<LocalLink> other_;
  const Memory* const memory_;
};

}  // namespace headrace::distributed
