/*
 * cfx/file.h -- models and tensors in files.
 */
#ifndef CFX_FILE_H
#define CFX_FILE_H

#include <stdio.h>

#include <cfx/graph_module.h>
#include <cfx/text.h>

CFX_BEGIN_DECLS

/* ---- Atomic writes of files ---- */

/*
 * A file to be written. `stream` writes to a temporary file beside `path`,
 * which commit renames to `path`. Pipes and devices are written to directly.
 * Error texts of all functions here begin with the path.
 */
typedef struct cfx_outfile {
    FILE *stream;
    cfx_context *ctx;
    char *path, *temporary; /* private */
    size_t path_size, temporary_size;
} cfx_outfile;

/* Fails with CFX_EIO, CFX_ENOMEM; then there is nothing to discard. */
CFX_API cfx_status cfx_outfile_open(cfx_outfile *f, cfx_context *ctx,
                                    const char *path, cfx_error *err);
/* Close the file and rename it, or remove it on failure (CFX_EIO). */
CFX_API cfx_status cfx_outfile_commit(cfx_outfile *f, cfx_error *err);
/* Close and remove the file. A zeroed or committed one is allowed. */
CFX_API void cfx_outfile_discard(cfx_outfile *f);

/* ---- safetensors ---- */

/* Tensors by name. */
typedef struct cfx_named_tensor {
    const char *name;
    cfx_tensor *tensor;
} cfx_named_tensor;

typedef struct cfx_tensors {
    cfx_context *ctx;
    size_t n;
    cfx_named_tensor *item; /* sorted by name */
} cfx_tensors;

/* Read a file of tensors, or map it without a copy if `map` is set. The whole
 * header is validated first. Fails with CFX_EIO, CFX_EPARSE, CFX_ENOMEM.
 * Release it with cfx_tensors_release. */
CFX_API cfx_status cfx_safetensors_read(cfx_tensors *out, cfx_context *ctx,
                                        const char *path, bool map,
                                        cfx_error *err);
/*
 * Read tensors from a safetensors file in memory. The bytes are copied, unless
 * `borrow` is set: then aligned tensors point into the memory, which must
 * outlive them. An in-place operator, or a batch norm in training, then writes
 * to that memory, and crashes the program if it is constant. Fails with
 * CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_safetensors_parse(cfx_tensors *out, cfx_context *ctx,
                                         const void *data, size_t size,
                                         bool borrow, cfx_error *err);
/* Write tensors atomically, by a temporary file and a rename. */
CFX_API cfx_status cfx_safetensors_write(const char *path, cfx_context *ctx,
                                         const cfx_named_tensor *item,
                                         size_t n, cfx_error *err);
CFX_API cfx_tensor *cfx_tensors_get(const cfx_tensors *t, const char *name);
CFX_API void cfx_tensors_release(cfx_tensors *t);

/* ---- Formats ---- */

struct cfx_file; /* a file that is open for reading, of the library's own */
typedef struct cfx_model_file cfx_model_file; /* cfx_model_file_open */

/* How files of a format are recognized. */
typedef struct cfx_format {
    const char *name;   /* "npy" */
    const char *suffix; /* of file names: ".npy"; "/" for a folder */
    const char *doc;    /* one sentence */
    /* Do the first bytes of a file (up to 320) have the format's signature?
     * NULL: it is only written. */
    bool (*probe)(const unsigned char *head, size_t n);
} cfx_format;

/* ---- NumPy ---- */

CFX_API cfx_status cfx_npy_read(cfx_tensor **out, cfx_context *ctx,
                                const char *path, cfx_error *err);
CFX_API cfx_status cfx_npy_write(const char *path, const cfx_tensor *t,
                                 cfx_error *err);
/* All arrays of an .npz archive. */
CFX_API cfx_status cfx_npz_read(cfx_tensors *out, cfx_context *ctx,
                                const char *path, cfx_error *err);

/* ---- Any tensor format ---- */

/* Called with the tensors of a file and its path; for an index of several
 * files, once for each file. */
typedef cfx_status cfx_tensors_fn(void *user, const cfx_tensors *tensors,
                                  const char *path, cfx_error *err);

/* A format of tensor files; its own file defines it. */
typedef struct cfx_tensor_format {
    cfx_format base;
    bool keyed; /* tensors have names; else it holds one */
    /* Read a file; map it if `map` is set and the format allows it. */
    cfx_status (*read)(cfx_tensors *out, struct cfx_file *f, bool map,
                       cfx_error *err);
    /* In place of `read`, for a format without keys. */
    cfx_status (*read_one)(cfx_tensor **out, struct cfx_file *f,
                           cfx_error *err);
    /* In place of `read`, for an index of several files. */
    cfx_status (*visit)(struct cfx_file *f, bool map, cfx_tensors_fn *fn,
                        void *user, cfx_error *err);
    /* NULL: read-only. A format without keys gets one tensor. */
    cfx_status (*write)(const char *path, cfx_context *ctx,
                        const cfx_named_tensor *item, size_t n,
                        cfx_error *err);
    /* For files that do not tell type and shape: `type` is the text after the
     * colon in FILE:f32[2,3]. *out is a new reference. NULL: they do. */
    cfx_status (*read_typed)(cfx_tensor **out, cfx_context *ctx,
                             const char *path, const char *type,
                             cfx_error *err);
} cfx_tensor_format;

/* The i-th format; NULL after the last. */
CFX_API const cfx_tensor_format *cfx_tensor_format_at(size_t i);
/* The format with the suffix of this path, or NULL. */
CFX_API const cfx_tensor_format *cfx_tensor_format_of_name(const char *path);

/* Visit the tensors of a file of any format, detected by content, then by
 * suffix. Fails with CFX_EIO, CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENOMEM and
 * what `fn` fails with. */
CFX_API cfx_status cfx_tensors_visit(cfx_context *ctx, const char *path,
                                     bool map, cfx_tensors_fn *fn, void *user,
                                     cfx_error *err);
/* Has a text the form FILE.npy, FILE.npz:KEY or FILE.bin:f32[2,3] that
 * cfx_tensor_read takes? */
CFX_API bool cfx_tensor_names_file(const char *text);
/* Read one tensor; a file given without a key must hold just one. Fails like
 * cfx_tensors_visit, and with CFX_ENAME, CFX_EINVAL. */
CFX_API cfx_status cfx_tensor_read(cfx_tensor **out, cfx_context *ctx,
                                   const char *text, bool map, cfx_error *err);
/* Write tensors in the format of the path's suffix. Fails with
 * CFX_EUNSUPPORTED, CFX_EINVAL, CFX_EIO, CFX_ENOMEM. */
CFX_API cfx_status cfx_tensors_write(const char *path, cfx_context *ctx,
                                     const cfx_named_tensor *item, size_t n,
                                     cfx_error *err);

/*
 * Read input or output i of a case of ONNX's test data, one file, as a value of
 * the type that the model declares: a tensor, a str or nested lists of str for a
 * tensor of strings, a list for a sequence, None for an optional value without an
 * element. Fails with CFX_EIO, CFX_EPARSE, CFX_EUNSUPPORTED (also where cfx is
 * built without ONNX), CFX_ENOMEM.
 */
CFX_API cfx_status cfx_onnx_value_read(cfx_value *out, cfx_context *ctx,
                                       const char *model, bool output,
                                       size_t i, const char *path,
                                       cfx_error *err);

/* Like it, for the input of that name of an open model; if that has none, the
 * file is one tensor. */
CFX_API cfx_status cfx_onnx_input_read(cfx_value *out,
                                       const cfx_model_file *model,
                                       const char *name, const char *path,
                                       cfx_error *err);

/* ---- Models ---- */

typedef struct cfx_named_value {
    const char *name;
    cfx_value value;
} cfx_named_value;

typedef struct cfx_load_options {
    size_t size;         /* sizeof(cfx_load_options) */
    const char *weights; /* .safetensors, .npz, .pt, or the .index.json
                                   of several files; NULL: MODEL.safetensors, its
                                   index or MODEL.npz, where they exist */
    bool no_weights;     /* load no parameter or buffer data */
    bool random_weights; /* initialize from `seed` instead */
    uint64_t seed;
    bool no_map;          /* read the weights instead of mapping them */
    bool assume_defaults; /* undecided arguments of modules take their
                                   defaults */
    /* Inputs of an ONNX model that decide shapes, by its names or those of
     * its placeholders, or, with the name "", by their places (absent: none).
     * They stay inputs, and must be given these values: of lists as many
     * tensors of these types and shapes, of metas a tensor of that type and
     * shape. */
    const cfx_named_value *constants;
    size_t nconstants;
    /* Gives the inputs of a model that cannot be read for any: it is then read
     * for their types and shapes and, with `input_numbers` or if these do not
     * suffice, also for strings and short vectors of numbers. *inputs must last
     * until the model is loaded. NULL: such a model fails. */
    cfx_status (*give_inputs)(void *user, const cfx_named_value **inputs,
                              size_t *n, cfx_error *err);
    void *user;
    bool input_numbers;
} cfx_load_options;

/*
 * Load a model: its text, and weights by name. A missing weight is an error
 * only when it is used. A weight that the model lacks is an error here. Fails
 * with CFX_EIO, CFX_EPARSE, CFX_ENAME, CFX_ESHAPE, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_model_load(cfx_module **out, cfx_context *ctx,
                                  const char *path,
                                  const cfx_load_options *options,
                                  cfx_error *err);

/*
 * A model file can be kept open, to read more than its graph and weights:
 *
 *     cfx_model_file *f;
 *     cfx_module *loaded = NULL;
 *     cfx_model_inputs in = {0};
 *     int failed = cfx_model_file_open(&f, ctx, "m.pt2", &err) ||
 *                  cfx_model_file_load(&loaded, f, NULL, &err) ||
 *                  cfx_model_inputs_list(&in, loaded, f, &err);
 *     for (size_t i = 0; i < in.n; i++)
 *         puts(in.item[i].name);
 *     cfx_model_inputs_release(&in);
 *     cfx_module_unref(loaded);
 *     cfx_model_file_close(f);
 *
 * Models and inputs outlive it.
 */

/* Open a file and find its format. A file that cannot be opened fails when it is
 * loaded. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_model_file_open(cfx_model_file **out, cfx_context *ctx,
                                       const char *path, cfx_error *err);
/* NULL is allowed. */
CFX_API void cfx_model_file_close(cfx_model_file *f);
/* Like cfx_model_load. */
CFX_API cfx_status cfx_model_file_load(cfx_module **out, cfx_model_file *f,
                                       const cfx_load_options *options,
                                       cfx_error *err);
/* The format: the one that the file's content tells, else its suffix, else the
 * first of the table. Never NULL. */
CFX_API const struct cfx_model_format *cfx_model_file_format(
    const cfx_model_file *f);
/* The versions that a file that was loaded tells, "schema 8.20, torch 2.13.0";
 * "" if none. */
CFX_API const char *cfx_model_file_version(const cfx_model_file *f);

/* An input of a model: a placeholder of its graph. Values are absent where
 * nothing tells them. */
typedef struct cfx_model_input {
    const char *name; /* without the stars of `*args` and `**kwargs` */
    const cfx_node *node;
    cfx_value type; /* a meta of the type and shape that the file declares */
    cfx_value fallback; /* the value of an input that is not given */
    cfx_value sample;   /* from the file */
} cfx_model_input;

typedef struct cfx_model_inputs {
    cfx_context *ctx;
    size_t n;
    cfx_model_input *item; /* in the order of the placeholders */
} cfx_model_inputs;

/* List the inputs of a model. `f` is the file that it was loaded from, which may
 * hold samples; NULL: none are read. Release the list, also on failure. Fails
 * with CFX_EGRAPH for a module without a graph, CFX_EIO, CFX_EPARSE,
 * CFX_EUNSUPPORTED, CFX_ENOMEM. */
CFX_API cfx_status cfx_model_inputs_list(cfx_model_inputs *out,
                                         const cfx_module *gm,
                                         cfx_model_file *f, cfx_error *err);
/* Release a list; a zeroed one is allowed. */
CFX_API void cfx_model_inputs_release(cfx_model_inputs *in);

/* Load weights by name into a module. Fails like cfx_model_load. */
CFX_API cfx_status cfx_module_load_weights(cfx_module *m, const char *path,
                                           bool map, cfx_error *err);

/*
 * Like cfx_module_load_weights, from a safetensors file in memory, copied or
 * borrowed as by cfx_safetensors_parse. With cfx_parse_model a program loads a
 * model without files:
 *
 *     failed = cfx_parse_model(&m, ctx, text, strlen(text), "net", &err) ||
 *              cfx_module_parse_weights(m, weights, size, true, &err);
 *
 * Fails with CFX_EPARSE, CFX_EUNSUPPORTED, CFX_ENAME, CFX_ESHAPE, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_module_parse_weights(cfx_module *m, const void *data,
                                            size_t size, bool borrow,
                                            cfx_error *err);

/*
 * Visit each tensor constant among the arguments of a model's graphs once,
 * with its name in the superset and in the weights file ("%tensor0"). Stops at
 * the first call that does not return CFX_OK. Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_model_visit_tensors(const cfx_module *gm,
                                           cfx_status (*fn)(void *user,
                                                            const char *name,
                                                            cfx_tensor *t),
                                           void *user, cfx_error *err);

/*
 * Initialize every parameter and buffer from a seed and its name. The values
 * are equal on every machine.
 */
CFX_API cfx_status cfx_module_randomize(cfx_module *gm, uint64_t seed,
                                        cfx_error *err);
/* Fill an input tensor from a seed and its name. */
CFX_API cfx_status cfx_tensor_randomize(cfx_tensor *t, uint64_t seed,
                                        const char *name, cfx_error *err);
/* Like cfx_tensor_randomize, for a tensor of integers, which are at least 0 and
 * less than `limit`. Fails with CFX_EINVAL for a limit that its type cannot
 * hold. */
CFX_API cfx_status cfx_tensor_randomize_below(cfx_tensor *t, uint64_t seed,
                                              const char *name, int64_t limit,
                                              cfx_error *err);

/* ---- Saving models, in any format ---- */

enum {
    CFX_SAVE_LOSSLESS = 1,
    CFX_SAVE_NAME = 2,
    CFX_SAVE_CALLS = 4,
    CFX_SAVE_ATEN = 8
};

typedef struct cfx_save_options {
    size_t size;   /* sizeof(cfx_save_options) */
    bool lossless; /* CFX_SAVE_LOSSLESS: the superset of PyTorch's text, also
                         where that loses nothing */
    const char *name; /* CFX_SAVE_NAME: of the class; NULL: the module's */
    /* CFX_SAVE_CALLS: the format takes graphs without modules, whose nodes have
     * types and shapes in meta, as cfx_symbolic_trace makes of metas. */
    /* CFX_SAVE_ATEN: the format has graphs of ATen's calls only, which
     * cfx_to_aten makes (cfx/to_aten.h). `inputs` are sample inputs, one for
     * each placeholder, that the file holds; or NULL. `env` has the ranges of
     * the symbols in its shapes; or NULL. */
    const cfx_value *inputs;
    size_t ninputs;
    const cfx_shape_env *env;
} cfx_save_options;

/* A format: a row of the table, at the end of the format's own file. */
typedef struct cfx_model_format {
    cfx_format base;  /* base.doc calls its files OUT */
    unsigned options; /* the save options that it takes, CFX_SAVE_... */
    /* Some of its models are read for certain inputs only, which files of
     * ONNX's test data may hold: reading fails with CFX_EUNDECIDED. */
    bool for_inputs;
    /* Read a model without weights; NULL: cfx only writes it. Error texts
     * begin with the path, here and below. */
    cfx_status (*read)(cfx_module **out, cfx_model_file *f,
                       const cfx_load_options *o, cfx_error *err);
    /* Load the weights that the model's file holds, mapped if `map` is set and
     * they can be. NULL: they are in a file beside it. */
    cfx_status (*read_weights)(cfx_module *gm, cfx_model_file *f, bool map,
                               cfx_error *err);
    /* Write a model and its weights: both, or neither. NULL: cfx only reads
     * it. */
    cfx_status (*write)(const char *path, const cfx_module *gm,
                        const cfx_save_options *o, cfx_error *err);
    /* The sample inputs that a file holds, new values in the order of the
     * placeholders of `gm`, which was read from it. `out` has an absent value
     * for each, and keeps them where the file has none, or after a failure.
     * NULL: its files hold none. Error texts are without the path. */
    cfx_status (*read_inputs)(cfx_value *out, const cfx_module *gm,
                              cfx_model_file *f, cfx_error *err);
    void (*close)(cfx_model_file *f); /* may be NULL */
} cfx_model_format;

/* The i-th format; NULL after the last. */
CFX_API const cfx_model_format *cfx_model_format_at(size_t i);
/* The format of files with such a name; NULL where none has its suffix. */
CFX_API const cfx_model_format *cfx_model_format_of_name(const char *path);

/* Save a model in the format that the suffix of the path tells, or else as a
 * model file, PyTorch's text. `options` may be NULL. Fails with CFX_EIO,
 * CFX_EINVAL, CFX_EUNSUPPORTED, CFX_ENOMEM. */
CFX_API cfx_status cfx_model_save(const char *path, const cfx_module *gm,
                                  const cfx_save_options *options,
                                  cfx_error *err);
/* The text of a model file alone: the superset where `lossless` is set or
 * PyTorch's text would lose something. */
CFX_API cfx_status cfx_model_print(cfx_sink to, const cfx_module *gm,
                                   bool lossless, cfx_error *err);
/* Is the file's text the superset by choice, not only because PyTorch's text
 * would have lost something? False where it cannot be read. */
CFX_API bool cfx_model_is_lossless(const char *path);

/* ---- Export as a Python package ---- */

/*
 * Write a GraphModule as a package of Python, as torch.fx's to_folder does:
 *
 *     FOLDER/__init__.py         from .module import NAME
 *     FOLDER/module.py           class NAME(torch.nn.Module): its modules, made
 *                                by their constructors; the code of its graph
 *     FOLDER/state.safetensors   the parameters and buffers, if any
 *
 * `from FOLDER import NAME; NAME()(x)` then needs PyTorch only. torch.fx
 * pickles all modules but Linear, Conv and BatchNorm, and loses the imports of
 * functions outside torch, buffers of children and training flags. Here the
 * whole module is text, and nothing is lost. State without data keeps the
 * values of the constructors, or is zero.
 *
 * `name` must be an identifier of Python; NULL: the module's class name, or
 * "FxModule" if that is not one. An existing folder keeps its other files. All
 * files are written before the first is renamed into place, as is a new
 * folder. Fails with CFX_EINVAL (not an identifier, no graph),
 * CFX_EUNSUPPORTED (a module type that is not PyTorch's, a function that
 * cannot be imported, tensors in arguments), CFX_EIO, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_graph_module_to_folder(const cfx_module *gm,
                                              const char *folder,
                                              const char *name,
                                              cfx_error *err);
/* Print module.py only. With `state`, it reads state.safetensors. */
CFX_API cfx_status cfx_print_python_module(cfx_sink to, const cfx_module *gm,
                                           const char *name, bool state,
                                           cfx_error *err);

CFX_END_DECLS

#endif
