// Reads the batches of a configuration's input graph, without a model. Usage: read_input [CONFIG]
#include <millrace/millrace.h>

#include <iostream>

int main(int count, char** words) {
  try {
    const millrace::Spec config = millrace::read_yaml_file(count > 1 ? words[1] : "rows.yaml");
    const millrace::Spec* input = config.find("input");
    if (input == nullptr) throw config.error("there is no input");

    const millrace::Catalog catalog = millrace::Catalog::builtin();
    millrace::Pipeline pipeline(millrace::InputGraph::build(*input, catalog.ops, {.seed = 23}), {});
    const int label = pipeline.rows().find("label");
    if (label < 0) throw config.error("the rows have no label");

    millrace::RowBlock batch = pipeline.make_slot();
    while (pipeline.next(batch) > 0) {
      for (int64_t row = 0; row < batch.size(); ++row) {
        const float* value = batch.row<float>(static_cast<size_t>(label), row);  // of a float32 field
        std::cout << pipeline.place(batch.id(row)).text() << ": " << *value << '\n';
      }
    }
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
