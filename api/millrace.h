// Millrace for programs that train and predict in their own process: everything in docs/embedding.md.
//
//   #include <millrace/millrace.h>
//
//   millrace::Trainer trainer = millrace::Trainer::from_file("mlp.yaml");
//   trainer.run();
//   trainer.save("model.safetensors");
//
// Programs that add layers or input ops of their own include <millrace/extend.h>, too. Failures are exceptions, all of
// them a millrace::Error; nothing is printed.
#pragma once

#include "millrace/core/errors.h"
#include "millrace/core/spec.h"
#include "millrace/core/trace.h"
#include "millrace/input/source.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"
