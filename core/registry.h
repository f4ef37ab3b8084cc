// Registry: the kinds of one sort (layers, losses, input ops, ...) that a configuration may name.
//
// A value: a program copies it and adds kinds of its own. After that it is constant, and any thread may read it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/core/text.h"

namespace millrace {

// The end of a list of all kinds, in the messages of a catalog's registries.
inline constexpr const char* kOthersAdd = "; plug-ins (--plugin FILE) and programs add others";

// The error of a kind or a command that a build leaves out with the capability `without`, and how to mend it.
inline std::string left_out_text(std::string_view what, std::string_view without) {
  return cat(what, " is not in this build (MILLRACE_WITHOUT=", without, ')');
}
inline std::string left_out_hint(std::string_view without) {
  return cat("take ", without, " out of MILLRACE_WITHOUT and build again");
}

// The options of a kind that has none.
struct NoOptions {
  void declare(OptionReader&) {}
};

// The name of a kind's object in messages, such as "loss mse", and its place in the configuration.
struct Origin {
  std::string who;
  Place place = {};
};

// The base of the interfaces that kinds implement. Every call of a kind's function is made in attributed(), so that
// whatever the function throws becomes an Error with the kind's name and place.
class HasOrigin {
 public:
  const Origin& origin() const { return origin_; }
  // Called before anything else uses the object.
  void set_origin(Origin origin) { origin_ = std::move(origin); }

 private:
  Origin origin_;
};

template <class Body>
decltype(auto) attributed(const Origin& origin, const Body& body) {
  return attributed(origin.who, origin.place, body);
}
// The same for one object: `attributed(loss, &Loss::predictions)`, or a body without arguments.
template <std::derived_from<HasOrigin> Object, class Body>
decltype(auto) attributed(Object& object, const Body& body) {
  return attributed(object.origin(), [&]() -> decltype(auto) {
    if constexpr (std::is_invocable_v<const Body&, Object&>) {
      return std::invoke(body, object);
    } else {
      return body();
    }
  });
}

// Returns the pointer, which `function` of a kind returned. If it is null, this throws, and attributed() makes an
// InternalError with the kind's name of it. REQUIRES: called inside attributed().
template <class Pointer>
Pointer not_null(Pointer pointer, std::string_view function) {
  if (pointer == nullptr) throw std::logic_error(cat(function, " returned null"));
  return pointer;
}

// The contents of a field of a data set, as far as they are known. It is offered to the kinds, and each says whether it
// suits the field:
//
//   static std::optional<Spec> suit(FoundField& field) {
//     if (field.holds != FoundField::Holds::texts) return {};
//     ..
//     return Spec::map({{"field", field.field}});
//   }
//
// So code that looks at data and writes a configuration for them (`trainer init`) needs no list of kinds. A value.
struct FoundField {
  enum class Holds : uint8_t {
    texts,
    codes,    // whole numbers from 0 to classes - 1
    times,    // seconds since 1970
    amounts,  // other numbers
  };
  // For times: how their texts are written (the kind of text, and the letters of strftime; none for ISO 8601), the
  // first and the last year, and what else differs from row to row.
  struct Times {
    bool dates = false;  // days, without a time of day
    std::string letters = {};
    int64_t first_year = 0, last_year = 0;
    bool yeardays = false, weekdays = false, clock = false;
  };

  std::string about = {};  // what the field is about, a plain word; "label" if it is to be predicted
  std::string field = {};  // the field's name now
  Holds holds = Holds::texts;
  bool label = false;                   // it is to be predicted; else it is to be learned from
  bool decoded = false;                 // it is no longer the text of a file
  bool scaled = false;                  // for amounts: none is far from 0, so a model can read them
  bool wide = false;                    // for amounts: float32 has too few digits for them
  int64_t width = 1;                    // values of a row
  std::vector<std::string> texts = {};  // for texts: all that were found
  int64_t classes = 0;                  // for codes
  Times times = {};
  // For amounts: a list, one for each column; the deviation is not 0. For times the mean is a text like the others.
  Spec mean = {}, deviation = {};

  bool has(Holds what) const { return decoded && holds == what; }
};

// For suit(), if a kind suits a field without options: an empty map if `suits`, else no value.
inline std::optional<Spec> plain_if(bool suits) { return suits ? std::optional(Spec::map()) : std::nullopt; }

// `Base` is the interface that the kinds implement. A kind is a class with `static constexpr std::string_view kDoc`,
// one sentence for the reference. If it has options, it has a nested `Options` struct (options.h) and a constructor
// from it, else a constructor without arguments. If its required options make a poor example by themselves, it also has
// `kExample`, the options that one would write between braces. An input op that leads from one port to another has
// `kLeads` (Entry::leads). A kind that suits some fields of data has suit() (Entry::suit).
template <class Base>
class Registry {
 public:
  // The functions may capture objects of the program. Any thread may call them.
  struct Entry {
    std::string doc;
    std::function<std::vector<OptionInfo>()> describe;
    // As read_options(): throws ConfigError, and writes every option into `resolved` if it is not null.
    std::function<std::unique_ptr<Base>(const Spec& options, Spec* resolved)> make;
    std::string example = {};  // see KindInfo
    std::string leads = {};    // for an input op that a hint may propose: "names to text", from port to port
    // Returns the options for a field that the kind suits, and changes `field` into what the kind makes of it. No value
    // if the kind does not suit it. A loss and a metric are asked about the label. Empty: the kind suits no field.
    std::function<std::optional<Spec>(FoundField& field)> suit = {};
  };

  // `what` names the sort in messages: "layer", "input op"; `others` ends a list of all kinds.
  explicit Registry(std::string what, std::string others = {}) : what_(std::move(what)), others_(std::move(others)) {}

  template <class Kind>
  void add(std::string_view kind) {
    Entry entry;
    entry.doc = Kind::kDoc;
    if constexpr (requires { Kind::kExample; }) entry.example = Kind::kExample;
    if constexpr (requires { Kind::kLeads; }) entry.leads = Kind::kLeads;
    if constexpr (requires(FoundField& field) { Kind::suit(field); }) {
      entry.suit = [](FoundField& field) { return Kind::suit(field); };
    }
    if constexpr (requires { typename Kind::Options; }) {
      entry.describe = describe_options<typename Kind::Options>;
      entry.make = [](const Spec& options, Spec* resolved) -> std::unique_ptr<Base> {
        return std::make_unique<Kind>(read_options<typename Kind::Options>(options, resolved));
      };
    } else {
      entry.describe = describe_options<NoOptions>;
      entry.make = [](const Spec& options, Spec* resolved) -> std::unique_ptr<Base> {
        read_options<NoOptions>(options, resolved);  // throws if there are any
        return std::make_unique<Kind>();
      };
    }
    add(kind, std::move(entry));
  }
  // REQUIRES: both functions. Throws ConfigError if the kind is there already.
  void add(std::string_view kind, Entry entry) {
    const bool added = entries_.emplace(kind, std::move(entry)).second;
    if (!added) throw ConfigError(cat("the ", what_, ' ', kind, " is registered twice"));
  }

  // Says that this build lacks `kind`, because it was made without the capability `without`. A program may add a kind
  // of that name.
  void leave_out(std::string_view kind, std::string_view without) { left_out_.emplace(kind, without); }

  // The kind that `spec` names, with its options: `kind`, `kind: {options}`, or `kind: value` if an option stands
  // alone. Messages call it `what`, a noun with its article: "a layer". Throws ConfigError.
  KindAndOptions read(const Spec& spec, std::string_view what) const {
    return kind_and_options(spec, what, [&](const std::string& kind) {
      for (OptionInfo& option : options_of(kind, spec)) {
        if (option.stands_alone) return std::move(option.name);
      }
      return std::string();
    });
  }

  // The object of `wanted`, which was read from `spec`. `resolved`, if not null, receives all its options. Throws
  // ConfigError. For an unknown kind the error is at `spec` and names the nearest kind, or all kinds. An error that the
  // kind throws without a place gets the place of `spec`.
  std::unique_ptr<Base> make(const KindAndOptions& wanted, const Spec& spec, Spec* resolved = nullptr) const {
    const Entry& entry = find(wanted.kind, spec);
    Origin origin = origin_of(wanted.kind, spec.place());
    auto made = attributed(origin.who, origin.place, [&] {
      try {
        return not_null(entry.make(wanted.options, resolved), "make()");
      } catch (ConfigError& error) {
        if (!error.place().known()) {
          error.add_context(spec.path().empty() ? wanted.kind : cat(spec.path(), '.', wanted.kind));
        }
        throw;
      }
    });
    if constexpr (std::is_base_of_v<HasOrigin, Base>) made->set_origin(std::move(origin));
    return made;
  }

  // The options of the kind that `spec` names, as it describes them. Throws ConfigError as make() does.
  std::vector<OptionInfo> options_of(std::string_view kind, const Spec& spec) const {
    return attributed(origin_of(kind).who, spec.place(), find(kind, spec).describe);
  }

  const Entry& find(std::string_view kind, const Spec& spec) const {
    const auto found = entries_.find(kind);
    if (found != entries_.end()) return found->second;
    const auto without = left_out_.find(kind);
    if (without != left_out_.end()) {
      throw spec.error(left_out_text(cat(what_, ' ', quote(kind)), without->second), left_out_hint(without->second));
    }
    const std::string near = nearest(kind, kinds());
    throw spec.error(cat("unknown ", what_, ' ', quote(kind)),
                     near.empty() ? cat("known: ", join(kinds()), others_) : cat("did you mean ", near, "?"));
  }

  // All kinds, sorted by name.
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const auto& [kind, entry] : entries_) out.push_back(kind);
    return out;
  }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  // The word for one kind: "layer".
  const std::string& what() const { return what_; }

  // All kinds with their options, for reference pages.
  std::vector<KindInfo> describe() const {
    std::vector<KindInfo> out;
    for (const auto& [kind, entry] : entries_) {
      out.push_back({kind, entry.doc, attributed(origin_of(kind).who, {}, entry.describe), entry.example});
    }
    return out;
  }

 private:
  Origin origin_of(std::string_view kind, Place place = {}) const { return {cat(what_, ' ', kind), std::move(place)}; }

  std::string what_, others_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> left_out_;  // from kind to capability
};

}  // namespace millrace
