// Checks the gradients of the layer and the loss, as a test for them would.
#include <millrace/millrace.h>
#include <millrace/testing.h>

#include <iostream>

using namespace millrace;

int main() {
  try {
    Catalog catalog = Catalog::builtin();
    load_plugin("build/swish.so", catalog);
    load_plugin("build/quantile.so", catalog);
    const auto swish = catalog.layers.layers.make({"swish", Spec::map({{"beta", 1.5}})}, {});
    const auto quantile = catalog.layers.losses.make({"quantile", Spec::map({{"q", 0.9}})}, {});
    for (const GradientCheck& check : {check_gradients(*swish), check_gradients(*quantile)}) {
      const bool right = check.error < 1e-7;
      std::cout << "gradients: " << (right ? "right" : "WRONG: " + check.worst) << '\n';
      if (!right) return 1;
    }
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
