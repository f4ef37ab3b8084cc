// Reference pages: kinds and keys as text for a terminal, as JSON and as Markdown. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/cli/reference/reference.h"

namespace millrace::cli {

// One kind: what it does, where it belongs, its options with those inside them, and an example.
std::string kind_page(const KindReference& kind);
// All of them, by sort, each with its options.
std::string kinds_text(std::span<const KindReference> kinds);
// The keys, each with the path that leads to it.
std::string keys_text(std::span<const PlacedOption> keys);
// The same for programs, as one line of JSON.
std::string kinds_json(std::span<const KindReference> kinds);
std::string keys_json(std::span<const PlacedOption> keys);

// docs/config.md: every key and every kind.
std::string config_markdown(const Catalog& catalog);

// The configuration as JSON Schema (draft 2020-12), for editors, in one line; equal catalogs give equal bytes. The
// schema does not check what an option's declaration cannot tell: rules between keys, shapes, files.
std::string config_schema(const Catalog& catalog);

}  // namespace millrace::cli
