// The ops of readers: TextLineReader, TFRecordReader, ReaderRead, ReaderReset, ...
#include "files/disk.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "ops/readers/reader.hpp"
#include "table/resources.hpp"

namespace hr::readers {
namespace {

// ---- handles ------------------------------------------------------------------------------------

// "WholeFileReader" of WholeFileReaderV2.
std::string kind_of(const hr_node* node) {
  const std::string op = node->op;
  return op.substr(0, op.size() - (op.compare(op.size() - 2, 2, "V2") == 0 ? 2 : 0));
}

hr_code create_reader(hr_node* node, void** state) {
  if (!format_of(node)) return HR_INVALID_ARGUMENT;
  *state = new ResourceNode(node, kReaderKind);
  return HR_OK;
}

void destroy_reader_node(void* state) { delete static_cast<ResourceNode*>(state); }

hr_object* make_reader(void* argument) {
  const auto* node = static_cast<const hr_node*>(argument);
  try {
    return &(new Reader(kind_of(node) + " '" + node->name + "'", format_of(node)))->object;
  } catch (const std::bad_alloc&) { return nullptr; }
}

hr_code give_reader(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                    hr_tensor* const* outputs, void*) {
  auto* node = static_cast<ResourceNode*>(state);
  hr_object* found = nullptr;
  if (hr_code code = node->find(ctx, make_reader, const_cast<hr_node*>(node->node), &found))
    return code;
  node->give(ctx, found, outputs[0]);
  return HR_OK;
}

hr_code prepare_scalars(void*, hr_request* r) {
  for (int32_t i = 0; i < r->node->n_outputs; ++i) set_shape(r->outputs[i], {});
  return HR_OK;
}

// ---- what is done with them ---------------------------------------------------------------------

Reader* reader_of(hr_ctx* ctx, const hr_tensor* handle) {
  hr_object* object = object_of(handle, kReaderKind);
  if (!object) hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at a reader");
  return reinterpret_cast<Reader*>(object);
}

template <Call::Verb verb>
void start(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs, hr_tensor* const* outputs,
           void*, hr_done done, void* argument) {
  Reader* reader = reader_of(ctx, inputs[0]);
  if (!reader) return done(argument, HR_INVALID_ARGUMENT);
  auto call = std::make_unique<Call>(verb, ctx, reader, inputs, outputs, done, argument);
  if (verb == Call::kReadUpTo) call->wanted = *read<int64_t>(inputs[2]);
  reader->enter(std::move(call));
}

hr_code prepare_read_up_to(void*, hr_request* r) {
  if (r->inputs[2]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "num_records must be a scalar, its shape is %s",
                           ShapeText(r->inputs[2]).text);
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code prepare_restore(void*, hr_request* r) {
  if (r->inputs[1]->rank == 0) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "Reader state must be scalar, but had shape: %s",
                         ShapeText(r->inputs[1]).text);
}

hr_code prepare_reset(void*, hr_request*) { return HR_OK; }

template <int64_t (Reader::*number)() const>
hr_code compute_number(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  Reader* reader = reader_of(ctx, inputs[0]);
  if (!reader) return HR_INVALID_ARGUMENT;
  *write<int64_t>(outputs[0]) = (reader->*number)();
  return HR_OK;
}

constexpr KernelRegistration reader(const char* op) {
  return kernel(op, nullptr, prepare_scalars, give_reader)
      .with_state(create_reader, destroy_reader_node);
}

template <Call::Verb what> constexpr KernelRegistration verb(const char* op, Prepare prepare) {
  KernelRegistration made = kernel(op, nullptr, prepare, nullptr);
  made.compute_async = start<what>;
  return made;
}

}  // namespace

HR_KERNELS = {
    reader("WholeFileReader"),
    reader("WholeFileReaderV2"),
    reader("IdentityReader"),
    reader("IdentityReaderV2"),
    reader("TextLineReader"),
    reader("TextLineReaderV2"),
    reader("FixedLengthRecordReader"),
    reader("FixedLengthRecordReaderV2"),
    reader("TFRecordReader"),
    reader("TFRecordReaderV2"),
    verb<Call::kRead>("ReaderRead", prepare_scalars),
    verb<Call::kRead>("ReaderReadV2", prepare_scalars),
    verb<Call::kReadUpTo>("ReaderReadUpTo", prepare_read_up_to),
    verb<Call::kReadUpTo>("ReaderReadUpToV2", prepare_read_up_to),
    verb<Call::kSerialize>("ReaderSerializeState", prepare_scalars),
    verb<Call::kSerialize>("ReaderSerializeStateV2", prepare_scalars),
    verb<Call::kRestore>("ReaderRestoreState", prepare_restore),
    verb<Call::kRestore>("ReaderRestoreStateV2", prepare_restore),
    verb<Call::kReset>("ReaderReset", prepare_reset),
    verb<Call::kReset>("ReaderResetV2", prepare_reset),
    kernel("ReaderNumRecordsProduced", nullptr, prepare_scalars,
           compute_number<&Reader::records_produced>),
    kernel("ReaderNumRecordsProducedV2", nullptr, prepare_scalars,
           compute_number<&Reader::records_produced>),
    kernel("ReaderNumWorkUnitsCompleted", nullptr, prepare_scalars,
           compute_number<&Reader::units_completed>),
    kernel("ReaderNumWorkUnitsCompletedV2", nullptr, prepare_scalars,
           compute_number<&Reader::units_completed>),
};

}  // namespace hr::readers
