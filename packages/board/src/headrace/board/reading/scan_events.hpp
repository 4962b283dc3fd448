// The scanner of event files; scan_events_python.py does the same in Python.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "record_frames.hpp"
#include "tensor_number.hpp"

namespace headrace_board {

constexpr size_t kMaxNameBytes = 64u << 10;
constexpr size_t kMaxContentBytes = 1u << 20;
constexpr size_t kNameBlockBytes = 4u << 10;
constexpr size_t kMaxTags = 100000;
constexpr size_t kMaxTagBytes = 64u << 20;
constexpr size_t kMaxStartsConsidered = 1000;

enum Kind : int {
  kScalar,
  kImage,
  kHistogram,
  kAudio,
  kText,
  kPrCurve,
  kHparams,
  kMesh,
  kCustomScalars,
  kTensor,
  kGraph,
  kRunMetadata,
  kKinds
};

inline int kind_of_plugin(std::string_view plugin) {
  if (plugin == "scalars") return kScalar;
  if (plugin == "images") return kImage;
  if (plugin == "histograms") return kHistogram;
  if (plugin == "text") return kText;
  if (plugin == "audio") return kAudio;
  if (plugin == "pr_curves") return kPrCurve;
  if (plugin == "hparams") return kHparams;
  if (plugin == "mesh") return kMesh;
  if (plugin == "custom_scalars") return kCustomScalars;
  if (plugin == "graph_run_metadata" || plugin == "graph_run_metadata_graph") return kRunMetadata;
  return kTensor;
}

struct NewTag {
  std::string name, plugin, display, description, content;
  int kind;
};

struct Start {
  int32_t tag;
  int64_t row, step;
};

// Rows in the order of the file.
struct ScalarRows {
  std::vector<int32_t> tag;
  std::vector<int64_t> step;
  std::vector<double> wall, value;
};
struct BlobRows {
  std::vector<int32_t> tag;
  std::vector<int64_t> step;
  std::vector<double> wall;
  std::vector<int64_t> offset, length;
  std::vector<int32_t> value;
};

class EventScanner {
 public:
  RecordFrames frames;
  // Of the last pass.
  uint64_t records = 0;
  double last_wall = 0;
  std::vector<NewTag> new_tags;
  std::vector<Start> starts;
  ScalarRows scalars;
  BlobRows blobs;
  std::vector<uint8_t> wide;  // by tag, of this pass
  uint64_t dropped = 0;       // values of tags beyond the limits
  int64_t dropped_from = -1;  // offset of the first one's record
  // Of the file.
  double first_wall = std::numeric_limits<double>::quiet_NaN();
  size_t tags() const { return rows_.size(); }

  void scan(int fd, uint64_t limit) {
    records = 0;
    last_wall = -std::numeric_limits<double>::infinity();
    starts.clear();
    dropped = 0;
    dropped_from = -1;
    clear();
    wide.assign(rows_.size(), 0);
    frames.begin(fd, limit);
    Frame frame;
    while (frames.next(frame)) {
      try {
        walk(frame);
      } catch (const Malformed&) {
        frames.reject({kEvent, frame.offset, HR_RECORD_FRAME_BYTES + frame.data.size(), 1});
        continue;
      }
      ++records;
      if (wall_ > last_wall) last_wall = wall_;
      if (first_wall != first_wall && wall_ > 0) first_wall = wall_;
      add_event(frame);
    }
    frames.end();
  }

  // Frees the memory of the rows and tags.
  void clear() {
    new_tags = std::vector<NewTag>();
    starts = std::vector<Start>();
    scalars = ScalarRows();
    blobs = BlobRows();
  }

 private:
  enum What { kNothing, kSimple, kAnImage, kAHistogram, kAnAudio, kATensor };

  struct Metadata {
    Bytes plugin, content, display, description;
    uint64_t data_class = 0;
  };
  struct Value {
    Bytes tag, payload;
    float number = 0;
    What what = kNothing;
    bool has_metadata = false;
    Metadata metadata;
  };
  struct Texts {
    std::string plugin, display, description, content;
    uint64_t data_class = 0;
  };
  struct Kinds {
    int32_t id[kKinds];
    Kinds() { std::fill(id, id + kKinds, -1); }
  };
  // What the file has recorded about one tag name. Files may have 100,000 names, nearly all of
  // them of one kind and many without metadata.
  struct Name {
    std::unique_ptr<Texts> texts;  // once it has metadata
    int32_t first_kind = -1, first_id = -1;
    std::unique_ptr<Kinds> others;

    const Texts& known() const {
      static const Texts none;
      return texts ? *texts : none;
    }
    int32_t& id_of(int kind) {
      if (first_kind < 0) first_kind = kind;
      if (first_kind == kind) return first_id;
      if (!others) others = std::make_unique<Kinds>();
      return others->id[kind];
    }
  };

  static std::string_view view(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.begin), bytes.size()};
  }
  static std::string text(Bytes bytes) { return std::string(view(bytes).substr(0, kMaxNameBytes)); }

  // Reads the event's fields into wall_, step_, values_ and graphs_; adds no row yet.
  void walk(const Frame& frame) {
    wall_ = 0;
    step_ = 0;
    starts_here_ = false;
    values_.clear();
    graphs_.clear();
    run_metadata_.clear();
    Field field, inner;
    for (Fields fields(frame.data); fields.next(field);) {
      if (field.number == 1 && field.wire == 1) {
        wall_ = load<double>(field.bytes.begin);
      } else if (field.number == 2 && field.wire == 0) {
        step_ = int64_t(field.value);
      } else if (field.wire != 2) {
        continue;
      } else if (field.number == 5) {
        for (Fields summary(field.bytes); summary.next(inner);)
          if (inner.number == 1 && inner.wire == 2) walk_value(inner.bytes);
      } else if (field.number == 4) {
        graphs_.push_back("graph_def");
      } else if (field.number == 9) {
        graphs_.push_back("meta_graph_def");
      } else if (field.number == 8) {
        Bytes tag;
        for (Fields tagged(field.bytes); tagged.next(inner);)
          if (inner.number == 1 && inner.wire == 2) tag = inner.bytes;
        run_metadata_.push_back(tag);
      } else if (field.number == 7) {
        for (Fields log(field.bytes); log.next(inner);)
          if (inner.number == 1 && inner.wire == 0) starts_here_ = inner.value == 1;
      }
    }
  }

  void walk_value(Bytes bytes) {
    values_.emplace_back();
    Value& value = values_.back();
    Field field;
    for (Fields fields(bytes); fields.next(field);) {
      if (field.number == 2 && field.wire == 5) {
        value.what = kSimple;
        value.number = load<float>(field.bytes.begin);
      } else if (field.wire != 2) {
        continue;
      } else if (field.number == 1) {
        value.tag = field.bytes;
      } else if (field.number == 9) {
        value.has_metadata = true;
        value.metadata = Metadata();
        walk_metadata(field.bytes, value.metadata);
      } else if (field.number == 3) {
        set(value, kNothing, field.bytes);
      } else if (field.number == 4) {
        set(value, kAnImage, field.bytes);
      } else if (field.number == 5) {
        set(value, kAHistogram, field.bytes);
      } else if (field.number == 6) {
        set(value, kAnAudio, field.bytes);
      } else if (field.number == 8) {
        set(value, kATensor, field.bytes);
      }
    }
  }

  static void set(Value& value, What what, Bytes payload) {
    value.what = what;
    value.payload = payload;
  }

  static void walk_metadata(Bytes bytes, Metadata& out) {
    Field field, inner;
    for (Fields fields(bytes); fields.next(field);) {
      if (field.number == 4 && field.wire == 0) {
        out.data_class = field.value;
      } else if (field.wire != 2) {
        continue;
      } else if (field.number == 1) {
        out.plugin = out.content = Bytes();
        for (Fields data(field.bytes); data.next(inner);) {
          if (inner.number == 1 && inner.wire == 2) out.plugin = inner.bytes;
          if (inner.number == 2 && inner.wire == 2) out.content = inner.bytes;
        }
      } else if (field.number == 2) {
        out.display = field.bytes;
      } else if (field.number == 3) {
        out.description = field.bytes;
      }
    }
  }

  void add_event(const Frame& frame) {
    if (starts_here_) session_steps_.push_back(step_);
    for (size_t i = 0; i < values_.size(); ++i) add_value(frame, int32_t(i), values_[i]);
    for (const char* tag : graphs_) add_own(frame, tag, kGraph);
    for (Bytes tag : run_metadata_) add_own(frame, view(tag), kRunMetadata);
  }

  void add_own(const Frame& frame, std::string_view tag, int kind) {
    Name* known = name(tag, frame.offset);
    const int32_t id = known ? tag_id(*known, tag, kind, "", frame.offset) : -1;
    if (id >= 0) add_blob(id, frame, -1);
  }

  void add_value(const Frame& frame, int32_t index, const Value& value) {
    Name* known = name(view(value.tag), frame.offset);
    if (!known) return;
    if (value.has_metadata && !known->texts) {
      const Metadata& own_metadata = value.metadata;
      known->texts = std::make_unique<Texts>();
      known->texts->plugin = text(own_metadata.plugin);
      known->texts->display = text(own_metadata.display);
      known->texts->description = text(own_metadata.description);
      if (own_metadata.content.size() <= kMaxContentBytes)
        known->texts->content = std::string(view(own_metadata.content));
      known->texts->data_class = own_metadata.data_class;
    }
    const Texts& texts = known->known();
    int kind = kTensor;
    double number = value.number;
    bool needs_64 = false;
    switch (value.what) {
      case kSimple: kind = kScalar; break;
      case kAnImage: kind = kImage; break;
      case kAHistogram: kind = kHistogram; break;
      case kAnAudio: kind = kAudio; break;
      case kNothing:
        kind = kind_of_plugin(texts.plugin);
        if (texts.plugin.empty() || kind == kScalar) return;
        break;
      case kATensor: {
        kind = kind_of_plugin(texts.plugin);
        const bool unknown = texts.plugin.empty();
        if (kind == kScalar || unknown || texts.data_class == 1) {
          const Number found = tensor_number(value.payload);
          if (found.found && !(unknown && found.rank)) {
            kind = kScalar;
            number = found.value;
            needs_64 = found.wide;
          } else if (kind == kScalar) {
            kind = kTensor;
          }
        }
        break;
      }
    }
    const int32_t id = tag_id(*known, view(value.tag), kind, texts.plugin, frame.offset);
    if (id < 0) return;
    if (kind == kScalar) {
      add_row(id);
      scalars.tag.push_back(id);
      scalars.step.push_back(step_);
      scalars.wall.push_back(wall_);
      scalars.value.push_back(number);
      if (needs_64) wide[size_t(id)] = 1;
    } else {
      add_blob(id, frame, index);
    }
  }

  Name* name(std::string_view tag, uint64_t offset) {
    const std::string_view cut = tag.substr(0, kMaxNameBytes);
    const auto found = names_.find(cut);
    if (found != names_.end()) return &found->second;
    if (names_.size() >= kMaxTags || name_bytes_ > kMaxTagBytes) {
      drop(offset);
      return nullptr;
    }
    if (tag.size() > kMaxNameBytes) frames.reject({kName, offset, 0, 1});
    name_bytes_ += cut.size();
    return &names_[kept(cut)];
  }

  // Returns a copy of a name whose address stays; many names share a block of memory.
  std::string_view kept(std::string_view name) {
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < name.size()) {
      blocks_.emplace_back();
      blocks_.back().reserve(std::max(name.size(), kNameBlockBytes));
    }
    std::string& block = blocks_.back();
    const size_t begin = block.size();
    block.append(name);
    return std::string_view(block).substr(begin);
  }

  int32_t tag_id(Name& known, std::string_view tag, int kind, std::string_view plugin,
                 uint64_t offset) {
    int32_t& id = known.id_of(kind);
    if (id >= 0) return id;
    if (rows_.size() >= kMaxTags) {
      drop(offset);
      return -1;
    }
    id = int32_t(rows_.size());
    rows_.push_back(0);
    starts_seen_.push_back(0);
    wide.push_back(0);
    const Texts& texts = known.known();
    new_tags.push_back({std::string(tag.substr(0, kMaxNameBytes)), std::string(plugin),
                        texts.display, texts.description, texts.content, kind});
    return id;
  }

  // Counts a value of a tag beyond the limits; this is not corruption.
  void drop(uint64_t offset) {
    if (!dropped++) dropped_from = int64_t(offset);
  }

  void add_blob(int32_t id, const Frame& frame, int32_t index) {
    add_row(id);
    blobs.tag.push_back(id);
    blobs.step.push_back(step_);
    blobs.wall.push_back(wall_);
    blobs.offset.push_back(int64_t(frame.offset));
    blobs.length.push_back(int64_t(frame.data.size()));
    blobs.value.push_back(index);
  }

  void add_row(int32_t id) {
    const size_t begun = session_steps_.size();
    size_t& seen = starts_seen_[size_t(id)];
    if (seen < begun) {
      const size_t from =
          std::max(seen, begun > kMaxStartsConsidered ? begun - kMaxStartsConsidered : 0);
      const int64_t step =
          *std::min_element(session_steps_.begin() + ptrdiff_t(from), session_steps_.end());
      starts.push_back({id, rows_[size_t(id)], step});
      seen = begun;
    }
    ++rows_[size_t(id)];
  }

  // Of the event being read.
  double wall_ = 0;
  int64_t step_ = 0;
  bool starts_here_ = false;
  std::vector<Value> values_;
  std::vector<const char*> graphs_;
  std::vector<Bytes> run_metadata_;

  std::unordered_map<std::string_view, Name> names_;
  std::deque<std::string> blocks_;  // of names; strings never grow, so views of them stay valid
  size_t name_bytes_ = 0;
  std::vector<int64_t> rows_;        // by tag: rows so far
  std::vector<size_t> starts_seen_;  // by tag: sessions begun before its last row
  std::vector<int64_t> session_steps_;
};

// The positions of rows when sorted by tag; rows of one tag keep the order of the file.
struct TagOrder {
  std::vector<int32_t> tags;
  std::vector<int64_t> bounds;
  std::vector<int64_t> place;

  TagOrder(const std::vector<int32_t>& tag, size_t tag_count) {
    std::vector<int64_t> count(tag_count, 0);
    for (int32_t id : tag) ++count[size_t(id)];
    bounds.push_back(0);
    for (size_t id = 0; id < tag_count; ++id) {
      if (!count[id]) continue;
      tags.push_back(int32_t(id));
      const int64_t begin = bounds.back();
      bounds.push_back(begin + count[id]);
      count[id] = begin;
    }
    place.resize(tag.size());
    for (size_t i = 0; i < tag.size(); ++i) place[i] = count[size_t(tag[i])]++;
  }

  template <typename T>
  void scatter(const std::vector<T>& from, T* to) const {
    for (size_t i = 0; i < from.size(); ++i) to[place[i]] = from[i];
  }
};

// Returns freed memory to the system. What is freed after a pass over many tags lies between their
// names, where glibc keeps it.
inline void release_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace headrace_board
