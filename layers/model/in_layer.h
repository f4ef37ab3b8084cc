// in_layer(): a call of a layer's functions, whose errors name the layer. Steps use it, so it allocates nothing unless
// the call throws.
#pragma once

#include <exception>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// Returns what `call` returns, which calls functions of a layer. Errors get the layer's name as context and, if they
// have none, its place; any other exception becomes an InternalError like that.
template <class F>
decltype(auto) in_layer(const std::string& name, const Place& place, const F& call) {
  try {
    return call();
  } catch (Error& error) {
    error.add_context(cat("layer ", name));
    error.set_place(place);
    throw;
  } catch (...) {
    std::rethrow_exception(as_error(std::current_exception(), cat("layer ", name), place));
  }
}
template <class F>
decltype(auto) in_layer(const LayerNode& node, const F& call) {
  return in_layer(node.name, node.spec.place(), call);
}

}  // namespace millrace
