/* Millrace for C, and for languages that call C.
 *
 *   millrace_trainer* trainer = NULL;
 *   millrace_error* error = NULL;
 *   if (millrace_trainer_from_file("mlp.yaml", NULL, 0, NULL, &trainer, &error) != MILLRACE_OK) {
 *     fprintf(stderr, "%s\n", millrace_error_text(error));
 *     ...
 *
 * Every function that can fail returns a status, and MILLRACE_OK is 0. If its last argument `error` is not NULL,
 * *error receives the error of the call, or NULL; millrace_error_free() frees it. Read it in a separate statement: in
 * check(millrace_x(.., &error), error) a compiler may read `error` before the call sets it. Objects are freed by the
 * function of their type; NULL may be freed. Texts are UTF-8, end with a zero byte, and belong to the side that gives
 * them; a text that a function returns lives as long as the object that the function was called for. Nothing is
 * printed. If a callback is C++ and throws, the call that called it ends with MILLRACE_ERROR_INTERNAL, or with the
 * status of a millrace::Error.
 *
 * One thread uses a trainer, an input or a catalog; millrace_trainer_stop(), millrace_trainer_checkpoint(),
 * millrace_input_stop(), millrace_batch_free() and all functions of a network may be called from any thread.
 *
 * This interface is stable: a program that was built with it works with every later library of the same soname. */
#ifndef MILLRACE_C_H
#define MILLRACE_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define MILLRACE_C_EXPORT __attribute__((visibility("default")))
#else
#define MILLRACE_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum millrace_status {
  MILLRACE_OK = 0,
  MILLRACE_ERROR_CONFIG = 1,   /* the configuration is wrong: a key, a value, shapes that do not fit */
  MILLRACE_ERROR_DATA = 2,     /* the data are wrong */
  MILLRACE_ERROR_MISSING = 3,  /* an input is not there, or not readable */
  MILLRACE_ERROR_IO = 4,       /* reading or writing failed */
  MILLRACE_ERROR_DEVICE = 5,   /* a device or one of its libraries failed */
  MILLRACE_ERROR_INTERNAL = 6, /* a promise of the library was broken, or memory ran out */
  MILLRACE_ERROR_ARGUMENT = 7, /* this call's arguments are wrong: a NULL, a size */
  MILLRACE_ERROR_CALL = 8      /* this call comes too late, or too early: a trainer runs once */
} millrace_status;

/* MAJOR.MINOR.PATCH, as text. */
MILLRACE_C_EXPORT const char* millrace_version(void);

/* ---- Errors. */

typedef struct millrace_error millrace_error;

MILLRACE_C_EXPORT millrace_status millrace_error_status(const millrace_error* error);
/* All of it in one line: "FILE:LINE:COLUMN: MESSAGE; HINT". */
MILLRACE_C_EXPORT const char* millrace_error_text(const millrace_error* error);
MILLRACE_C_EXPORT const char* millrace_error_message(const millrace_error* error);
/* How to correct it, or "". */
MILLRACE_C_EXPORT const char* millrace_error_hint(const millrace_error* error);
/* The file at fault, or its substitute (the name of a text, "--set KEY=VALUE" for a setting), or "". */
MILLRACE_C_EXPORT const char* millrace_error_file(const millrace_error* error);
/* Counted from 1; 0 if it is not known. */
MILLRACE_C_EXPORT int64_t millrace_error_line(const millrace_error* error);
MILLRACE_C_EXPORT int64_t millrace_error_column(const millrace_error* error);
MILLRACE_C_EXPORT void millrace_error_free(millrace_error* error);

/* ---- Catalogs: the kinds that a configuration may name, and rows of this program. A function that takes a catalog
 * copies what it needs; NULL stands for the built-in kinds. */

typedef struct millrace_catalog millrace_catalog;

MILLRACE_C_EXPORT millrace_status millrace_catalog_new(millrace_catalog** catalog, millrace_error** error);
MILLRACE_C_EXPORT void millrace_catalog_free(millrace_catalog* catalog);

/* Adds the kinds of a plug-in. */
MILLRACE_C_EXPORT millrace_status millrace_catalog_load_plugin(millrace_catalog* catalog, const char* path,
                                                               millrace_error** error);

typedef enum millrace_type {
  MILLRACE_FLOAT32 = 0,
  MILLRACE_FLOAT64 = 1,
  MILLRACE_INT32 = 2,
  MILLRACE_INT64 = 3,
  MILLRACE_UINT8 = 4, /* a byte for each value, also inside; layers read them as the numbers 0 to 255 */
  /* Texts: the values of such a field are an array of `const char*`, each a text that ends with a zero byte. NULL is
   * the empty text, which in rows for a network means a missing value. */
  MILLRACE_TEXT = 5
} millrace_type;

/* A field of a row: `width` numbers of a type, or `width` texts. */
typedef struct millrace_field {
  const char* name;
  int32_t type; /* a millrace_type */
  int64_t width;
} millrace_field;

/* Adds an input op of the kind `kind` that gives rows of this program, which are copied: values[i] has the values of
 * fields[i], one row after another. Its option `epochs` says how often they are given; without it they never end. */
MILLRACE_C_EXPORT millrace_status millrace_catalog_add_rows(millrace_catalog* catalog, const char* kind,
                                                            const millrace_field* fields, size_t field_count,
                                                            int64_t rows, const void* const* values,
                                                            millrace_error** error);

/* Makes rows of pass `pass`, counted from 0: writes up to `room` rows, the values of field i to values[i], one row
 * after another, and returns how many rows it wrote: 0 ends the pass, less than 0 is an error that ends the training.
 * Texts must stay as they are until the next call; those that are not written are empty. It is called by one thread at
 * a time, not always the same one, and before its rows are needed for training. */
typedef int64_t (*millrace_fill)(void* user, uint32_t pass, int64_t room, void* const* values);

/* Adds an input op of the kind `kind` that asks this program for its rows, `room` at a time. Its option `epochs` (1)
 * says how many passes there are. `fill` and `user` must be valid until every trainer with this catalog is freed. */
MILLRACE_C_EXPORT millrace_status millrace_catalog_add_callback(millrace_catalog* catalog, const char* kind,
                                                                const millrace_field* fields, size_t field_count,
                                                                int64_t room, millrace_fill fill, void* user,
                                                                millrace_error** error);

/* The rows that a metric judges, each in the order in which it was read. */
typedef struct millrace_judged {
  int64_t rows, outputs;   /* `predictions` have `outputs` numbers for each row, which are what the loss reads */
  int64_t labels_of_a_row; /* numbers of a row in `labels` */
  const double* predictions;
  const double* labels;
  const double* weights; /* one for each row; NULL: all rows count alike */
} millrace_judged;

/* Returns the metric over these rows. */
typedef double (*millrace_metric)(void* user, const millrace_judged* judged);

/* Adds a metric of the kind `kind`, which this program computes. It is called once for each report, by the thread of
 * millrace_trainer_run(), with all rows that the report is about; until then they are held in memory. It needs device:
 * cpu. `metric` and `user` must be valid until every trainer and network with this catalog is freed. */
MILLRACE_C_EXPORT millrace_status millrace_catalog_add_metric(millrace_catalog* catalog, const char* kind,
                                                              int less_is_better, millrace_metric metric, void* user,
                                                              millrace_error** error);

/* ---- Trainers. */

typedef struct millrace_trainer millrace_trainer;
typedef struct millrace_network millrace_network;

/* Reads, checks and builds; nothing runs yet. `settings` are `count` texts "PATH=VALUE" that change the configuration,
 * as --set does. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_from_file(const char* path, const char* const* settings,
                                                             size_t count, const millrace_catalog* catalog,
                                                             millrace_trainer** trainer, millrace_error** error);
/* The same for a YAML text; `name` stands for its file in messages. NULL: nobody knows the lines of the text, so
 * messages have none. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_from_string(const char* text, const char* name,
                                                               const char* const* settings, size_t count,
                                                               const millrace_catalog* catalog,
                                                               millrace_trainer** trainer, millrace_error** error);
MILLRACE_C_EXPORT void millrace_trainer_free(millrace_trainer* trainer);

/* The value of a metric. */
typedef struct millrace_score {
  const char* name;
  double value;
} millrace_score;

/* The report of every train.log_every steps. Later libraries may add members to the reports. */
typedef struct millrace_step {
  int64_t step;   /* counted from 1 */
  uint64_t epoch; /* counted from 1 */
  int64_t batch_size;
  double loss;
  double rows_per_s;
  double input_wait;            /* share of the time in which the step waited for input */
  double seconds;               /* since the start */
  double done;                  /* the share of the training, from 0 to 1; NaN if it is not known */
  const millrace_score* scores; /* the metrics */
  size_t score_count;
} millrace_step;

/* The report of every validation. */
typedef struct millrace_validation {
  int64_t step; /* the last step before it */
  uint64_t rows;
  double loss;                  /* over all rows */
  int best;                     /* 1: better than every validation before */
  const millrace_score* scores; /* the metrics, over all rows */
  size_t score_count;
} millrace_validation;

/* The report of a training that went on from a checkpoint. */
typedef struct millrace_resume {
  int64_t step; /* the last step before the checkpoint */
  const char* file;
  const char* const* notes; /* allowed differences from the saved training */
  size_t note_count;
  const char* const* warnings; /* about newer checkpoints that cannot be used */
  size_t warning_count;
} millrace_resume;

/* The report of a checkpoint that is on the disk. */
typedef struct millrace_checkpoint {
  int64_t step; /* the last step that it holds */
  const char* file;
} millrace_checkpoint;

/* Called on the thread of millrace_trainer_run(). A member that is NULL is not called. The data that a report
 * points to live until the callback returns. */
typedef struct millrace_callbacks {
  size_t size; /* sizeof(millrace_callbacks) */
  void* user;  /* passed to each callback */
  void (*on_step)(void* user, const millrace_step* step);
  void (*on_log)(void* user, const char* text); /* warnings, bad rows, lines of the op `print` */
  void (*on_validation)(void* user, const millrace_validation* validation);
  void (*on_resume)(void* user, const millrace_resume* resume);             /* once, before the first step */
  void (*on_checkpoint)(void* user, const millrace_checkpoint* checkpoint); /* soon after it is on the disk */
  void (*on_progress)(void* user, const millrace_step* step);               /* at most about ten times a second */
} millrace_callbacks;

typedef struct millrace_result {
  size_t size; /* sizeof(millrace_result), set by the caller; no more bytes are written */
  int64_t steps;
  uint64_t rows;
  uint64_t epochs;
  double seconds;
  double loss;       /* NaN if there was no step, or no row that counts */
  double input_wait; /* share of the time */
  char weights[65];  /* SHA-256 of the parameters */
  char reason[31];   /* "end of data", "steps", "no improvement" or "stopped" */
  /* The step that the run went on from, or -1; `steps` and `rows` count from the beginning of the training. */
  int64_t resumed;
  int64_t checkpoints;        /* checkpoints that were written */
  int64_t late_checkpoints;   /* that fell due while another was being written */
  int64_t failed_checkpoints; /* see millrace_trainer_checkpoint_failure() */
} millrace_result;

/* For a configuration with the key `checkpoint`: makes millrace_trainer_run() go on from the newest whole checkpoint of
 * its folder, or from `file` if that is not NULL. *step receives the last step before the checkpoint. Without `file`
 * and without any checkpoint *step receives -1, and the run begins with the first step. `step` may be NULL. Call it at
 * most once, before the run. Fails with MILLRACE_ERROR_CONFIG without the key, if another training uses the folder, if
 * the configuration has a difference that is not allowed, and if the run would write `file`; with MILLRACE_ERROR_DATA
 * if no checkpoint can be used. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_resume(millrace_trainer* trainer, const char* file, int64_t* step,
                                                          millrace_error** error);
/* Names a file to which this program appends during the run. Checkpoints record its length between two steps, and
 * millrace_trainer_resume() cuts it to the recorded length, so that nothing is in it twice or missing. Appended text
 * must have reached the system (fflush) when a callback returns. Call it before millrace_trainer_resume(). */
MILLRACE_C_EXPORT millrace_status millrace_trainer_appends_to(millrace_trainer* trainer, const char* path,
                                                              millrace_error** error);

/* Trains until the data end, train.steps are done, validation.patience has run out or millrace_trainer_stop() is
 * called; then saves the model if the configuration has the key `save`. If it was stopped and keep_best gives it the
 * model of the best validation, it saves the last one, too, as NAME.last.safetensors. With the key `checkpoint` it
 * writes checkpoints meanwhile, and one at the end; a folder that has some already is then an error, unless
 * millrace_trainer_resume() was called. A trainer runs only once. `callbacks` and `result` may be NULL. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_run(millrace_trainer* trainer, const millrace_callbacks* callbacks,
                                                       millrace_result* result, millrace_error** error);
/* Ends the run after the step that runs now. May be called from any thread and from callbacks, `fill` among them, but
 * not from a signal handler. */
MILLRACE_C_EXPORT void millrace_trainer_stop(millrace_trainer* trainer);
/* With the key `checkpoint`: the run writes one after the step that runs now, and goes on. It may be called from the
 * same places as millrace_trainer_stop(). */
MILLRACE_C_EXPORT void millrace_trainer_checkpoint(millrace_trainer* trainer);
/* Why the last failed checkpoint of the finished run failed; "" if none failed. */
MILLRACE_C_EXPORT const char* millrace_trainer_checkpoint_failure(const millrace_trainer* trainer);
/* How many steps were finished, even if the run failed. */
MILLRACE_C_EXPORT int64_t millrace_trainer_steps(const millrace_trainer* trainer);
/* The metric `name` of the finished run. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_metric(const millrace_trainer* trainer, const char* name,
                                                          double* value, millrace_error** error);
/* The metric number `index` of the finished run, counted from 0: sets `score` and returns 1, or returns 0 if there are
 * no more. The name lives until the trainer is freed. */
MILLRACE_C_EXPORT int millrace_trainer_score(const millrace_trainer* trainer, size_t index, millrace_score* score);
/* Writes the model, with the optimizer's state if the configuration has save: {file: .., optimizer: true}. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_save(millrace_trainer* trainer, const char* path,
                                                        millrace_error** error);
/* A copy of the model as it is now. */
MILLRACE_C_EXPORT millrace_status millrace_trainer_network(millrace_trainer* trainer, millrace_network** network,
                                                           millrace_error** error);

/* ---- Networks: trained models that predict rows of this program, for any number of threads at once. */

/* Loads a model file. `threads` is how many one call works with, including the thread that calls; 4096 at most, and 0
   for all. */
MILLRACE_C_EXPORT millrace_status millrace_network_load(const char* path, int threads, const millrace_catalog* catalog,
                                                        millrace_network** network, millrace_error** error);
/* The same for a checkpoint, with the parameters of the best validation (validation.keep_best), instead of the last
 * ones. */
MILLRACE_C_EXPORT millrace_status millrace_network_load_best(const char* path, int threads,
                                                             const millrace_catalog* catalog,
                                                             millrace_network** network, millrace_error** error);
MILLRACE_C_EXPORT void millrace_network_free(millrace_network* network);

/* How many fields a row has before the transforms of the configuration's input list, which the network applies. */
MILLRACE_C_EXPORT size_t millrace_network_field_count(const millrace_network* network);
/* Field `index`; its name lives as long as the network. If a row has any number of values in it (a ragged field), its
 * width is 0, and only C++ can predict such rows. REQUIRES: index < millrace_network_field_count(). */
MILLRACE_C_EXPORT millrace_field millrace_network_field(const millrace_network* network, size_t index);
/* The name of the column, in the data of the training, that value number `value` of field `index` was read from; "" if
 * it has none. It lives as long as the network. */
MILLRACE_C_EXPORT const char* millrace_network_column(const millrace_network* network, size_t index, int64_t value);
/* How many numbers come out for a row. */
MILLRACE_C_EXPORT int64_t millrace_network_outputs(const millrace_network* network);

/* Writes rows * millrace_network_outputs() numbers. values[i] has the values of field i, one row after another. An
 * empty text and, in a field of numbers that has a `default` in the configuration, NaN mean a missing value: it becomes
 * the default, as in text. */
MILLRACE_C_EXPORT millrace_status millrace_network_predict(const millrace_network* network, const void* const* values,
                                                           int64_t rows, float* outputs, millrace_error** error);

/* How many classes have a text; 0 if the label is numbers. */
MILLRACE_C_EXPORT size_t millrace_network_class_count(const millrace_network* network);
/* The text of class `number`, "" if it has none. */
MILLRACE_C_EXPORT const char* millrace_network_class(const millrace_network* network, int64_t number);
/* How many classes the answer for a row has: 1, or one for each output if each says yes or no; 0 if the label is an
 * amount. */
MILLRACE_C_EXPORT int64_t millrace_network_choices(const millrace_network* network);
/* Gives the answers for the outputs of `rows` rows, as `trainer predict` prints them. Either array may be NULL.
 * `classes` receives rows * millrace_network_choices() numbers of classes; -1 if a NaN leaves it open.
 * `values` receives rows * millrace_network_outputs() numbers: the probability of each class, or of class 1 if an
 * output says yes or no; amounts as the label was before the input list changed it, if that is known; else the
 * outputs. */
MILLRACE_C_EXPORT millrace_status millrace_network_answer(const millrace_network* network, const float* outputs,
                                                          int64_t rows, int64_t* classes, double* values,
                                                          millrace_error** error);

/* Writes a file as models are written: whole or not at all. */
MILLRACE_C_EXPORT millrace_status millrace_write_file(const char* path, const void* bytes, size_t size,
                                                      millrace_error** error);

/* ---- Inputs: the batches of a configuration, as a training sees them, for other programs. */

typedef struct millrace_input millrace_input;
typedef struct millrace_batch millrace_batch;

/* Opens the input of a configuration, which needs no model. Nothing is read yet but the beginnings of files. The
 * configuration's key `threads` says how many threads decode, including the one that calls millrace_input_next(). With
 * `held_out` they are the rows that the op `hold_out` keeps from the training: once, in order, as in a validation. */
MILLRACE_C_EXPORT millrace_status millrace_input_from_file(const char* path, const char* const* settings, size_t count,
                                                           int held_out, const millrace_catalog* catalog,
                                                           millrace_input** input, millrace_error** error);
/* The same for a YAML text; for `name` see millrace_trainer_from_string(). */
MILLRACE_C_EXPORT millrace_status millrace_input_from_string(const char* text, const char* name,
                                                             const char* const* settings, size_t count, int held_out,
                                                             const millrace_catalog* catalog, millrace_input** input,
                                                             millrace_error** error);
/* Batches may be used and freed later. */
MILLRACE_C_EXPORT void millrace_input_free(millrace_input* input);

/* Calls `log` with warnings, bad rows that are left out and the lines of the op `print`: the warnings now, the others
 * inside millrace_input_next(). */
MILLRACE_C_EXPORT millrace_status millrace_input_on_log(millrace_input* input,
                                                        void (*log)(void* user, const char* text), void* user,
                                                        millrace_error** error);
/* How many fields a row has. */
MILLRACE_C_EXPORT size_t millrace_input_field_count(const millrace_input* input);
/* Field `index`; its name lives as long as the input. The width is 0 if a row has any number of values in it (a ragged
 * field). REQUIRES: index < millrace_input_field_count(). */
MILLRACE_C_EXPORT millrace_field millrace_input_field(const millrace_input* input, size_t index);
/* How many dimensions the values of a row have in field `index`: (1, 28, 28) has three. Writes the first `room` of
 * them to `dimensions`. */
MILLRACE_C_EXPORT size_t millrace_input_shape(const millrace_input* input, size_t index, int64_t* dimensions,
                                              size_t room);
/* The most rows of a batch. */
MILLRACE_C_EXPORT int64_t millrace_input_batch_size(const millrace_input* input);

/* Makes the next batch. *batch receives NULL at the end of the data, and after millrace_input_stop(). An error of the
 * data is returned by every further call, too. Fails with MILLRACE_ERROR_CALL while another thread is inside of this
 * function, millrace_input_save() or millrace_input_restore() for the same input; these two do so, too. */
MILLRACE_C_EXPORT millrace_status millrace_input_next(millrace_input* input, millrace_batch** batch,
                                                      millrace_error** error);
/* Makes millrace_input_next() return soon, even a call that is waiting now. It may be called from any thread, but not
 * from a signal handler. */
MILLRACE_C_EXPORT void millrace_input_stop(millrace_input* input);
/* The state of the input after the newest batch, as bytes that live until the next call for this input. */
MILLRACE_C_EXPORT millrace_status millrace_input_save(millrace_input* input, const void** bytes, size_t* size,
                                                      millrace_error** error);
/* Makes the input go on after a saved state, with any number of threads. Call it before the first
 * millrace_input_next(). Fails with MILLRACE_ERROR_DATA if files or configuration differ from those of the state. */
MILLRACE_C_EXPORT millrace_status millrace_input_restore(millrace_input* input, const void* bytes, size_t size,
                                                         millrace_error** error);

/* The memory of a batch belongs to the program until it frees the batch. Any thread may use and free it. */
MILLRACE_C_EXPORT void millrace_batch_free(millrace_batch* batch);
MILLRACE_C_EXPORT int64_t millrace_batch_rows(const millrace_batch* batch);
/* The pass over the data that the newest row comes from, counted from 1. */
MILLRACE_C_EXPORT uint64_t millrace_batch_epoch(const millrace_batch* batch);

/* The values of a field in a batch. */
typedef struct millrace_values {
  size_t size; /* sizeof(millrace_values), set by the caller; no more bytes are written */
  /* The first value; of texts the first byte of the first text, and the bytes of all texts follow one another. */
  void* values;
  /* Bytes from a row to the next; 0 for texts and ragged fields, whose rows follow one another. */
  int64_t row_bytes;
  const int64_t* row_ends;  /* ragged fields: for each row, how many values there are up to its end; else NULL */
  const int64_t* text_ends; /* texts: for each text, how many bytes there are up to its end; else NULL */
} millrace_values;

/* *values receives field `index`. It lives until the batch is freed. */
MILLRACE_C_EXPORT millrace_status millrace_batch_values(millrace_batch* batch, size_t index, millrace_values* values,
                                                        millrace_error** error);
/* Where a row of a batch comes from, as messages say it: "a.csv:17". `input` is the one that made the batch. The text
 * lives until the next call for this batch. */
MILLRACE_C_EXPORT millrace_status millrace_batch_place(millrace_batch* batch, const millrace_input* input, int64_t row,
                                                       const char** place, millrace_error** error);

#ifdef __cplusplus
}
#endif

#endif
