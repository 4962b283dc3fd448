// A link to an endpoint of this process, perhaps the same one: a frame is a call, and a tensor
// passes by reference.
#pragma once
#include "native/clock.hpp"
#include "native/link.hpp"

namespace headrace::distributed {

class LocalLink : public Link {
 public:
  explicit LocalLink(std::shared_ptr<Receiver> receiver) : receiver_(receiver) {}

  const char* plane() const override { return "local"; }

  // The link of the other side, by which it answers.
  void pair(const std::shared_ptr<LocalLink>& other, const std::shared_ptr<Receiver>& theirs) {
    other_ = other;
    theirs_ = theirs;
  }

  void send(const Message* messages, size_t n) override {
    auto theirs = theirs_.lock();
    auto other = other_.lock();
    if (!theirs || !other || dead || other->dead) return;
    counts.frames_sent.fetch_add(int64_t(n), std::memory_order_relaxed);
    for (size_t i = 0; i < n; ++i) {
      const Message& m = messages[i];
      Value value;
      if (m.value) {
        if (!theirs->wants(m.header)) continue;
        value = Value::shared(*m.value, theirs->memory());
      }
      theirs->on_frame(other, m.header, std::move(value),
                       std::string(m.text ? m.text : "", m.text_size));
    }
  }

  void close(const std::string& reason) override {
    if (dead.exchange(true)) return;
    if (auto receiver = receiver_.lock()) receiver->on_lost(shared_from_this(), reason);
    if (auto other = other_.lock()) other->close(reason);
  }

 private:
  std::weak_ptr<Receiver> receiver_, theirs_;
  std::weak_ptr<LocalLink> other_;
};

}  // namespace headrace::distributed
