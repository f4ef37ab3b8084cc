// hdf5_reader: rows of HDF5 files, a dataset of the file for each field.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/catalog.h"
#include "millrace/input/hdf5/hdf5_dataset.h"

namespace millrace {
namespace {

struct Hdf5ReaderOptions {
  Spec fields;
  int64_t chunk_bytes = 262144;

  void declare(OptionReader& o) {
    o.required("fields", fields, "name: the path of its dataset in the file, for each field");
    o.may_be("fields", {{.is = OptionForm::Is::map, .items = option_forms<std::string>()}});
    o.used_as("fields", OptionUse::fields);
    declare_chunk_bytes(o, chunk_bytes);
    if (!o.reading()) return;
    names_of_fields(fields, "for example fields: {features: /x, label: /y}");
    for (const auto& [name, dataset] : fields.entries()) dataset.as_string();
  }
};

class Hdf5Reader final : public ArraySource {
 public:
  using Options = Hdf5ReaderOptions;
  static constexpr std::string_view kDoc = "reads HDF5 files, a dataset for each field";
  static constexpr std::string_view kExample = "fields: {features: /x, label: /y}";

  explicit Hdf5Reader(const Options& options)
      : ArraySource(
            {.fields = names_of_fields(options.fields, {}), .chunk_bytes = static_cast<uint64_t>(options.chunk_bytes)}),
        pool_(std::make_shared<Hdf5Pool>()) {
    for (const auto& [field, dataset] : options.fields.entries()) datasets_.push_back(dataset.as_string());
    pool_->most = kFilesAtOnce * datasets_.size();
  }

  Port open(const BindArgs& args) override {
    pool_->files = args.files;
    return ArraySource::open(args);
  }
  uint64_t memory_bound() const override { return pool_->images + pool_->memory * pool_->most; }
  std::vector<std::string> warnings() const override {
    return pool_->warning.empty() ? std::vector<std::string>() : std::vector{pool_->warning};
  }

 private:
  // One that ends and one that begins.
  static constexpr size_t kFilesAtOnce = 2;

  std::vector<StoredArray> arrays_of(size_t index) const override {
    std::vector<StoredArray> out;
    for (const std::string& name : datasets_) {
      try {
        const auto dataset = std::make_shared<const Hdf5Dataset>(
            Hdf5Dataset::Settings{.file = entries()[index], .name = name, .pool = pool_});
        out.push_back({.file = entries()[index],
                       .unpacked = dataset,
                       .layout = dataset->layout(),
                       .block_rows = dataset->block_rows()});
      } catch (Error& error) {
        const std::shared_ptr<const File> file = open_file(*entries()[index]).file;
        const FileRange range{*file, 0, entries()[index]->size};
        if (error.kind() == ErrorKind::data && range.read(0, 4) != "\x89HDF") error.set_hint(other_format_hint(range));
        error.add_context(cat("dataset ", quote(name)));
        throw;
      }
    }
    return out;
  }

  std::vector<std::string> datasets_;  // by field
  const std::shared_ptr<Hdf5Pool> pool_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(hdf5_reader, Hdf5Reader);
