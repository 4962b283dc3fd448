// The end of a variable's slot, which gives its buffer back.
#pragma once
#include "slot.hpp"

namespace {
void (*release_buffer)(hr_buffer*) = nullptr;
void bind_release(void (*release)(hr_buffer*)) { release_buffer = release; }
void destroy_slot_object(hr_object* object) {
  auto* slot = reinterpret_cast<headrace::Slot*>(object);
  release_buffer(slot->value.owner);
  delete slot;
}
}  // namespace
