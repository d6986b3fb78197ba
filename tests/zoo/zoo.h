/*
 * zoo.h -- a model of the zoo, read with what PyTorch's text leaves out, and
 * filled from a seed. What it leaves out stands in the model's digest
 * (tests/oracle/README.md, "golden/zoo").
 */
#ifndef CFX_TEST_ZOO_H
#define CFX_TEST_ZOO_H

#include <jansson.h>

#include <cfx/file.h>
#include <cfx/text.h>

enum { ZOO_MAX_INPUTS = 8, ZOO_PATH = 1024 };

typedef struct zoo_model {
    char path[ZOO_PATH]; /* of the text */
    json_t *digest;
    cfx_module *gm;
    cfx_value in[ZOO_MAX_INPUTS];
    size_t nin;
} zoo_model;

/* A file's bytes and a NUL behind them, for free(); NULL: it cannot be read. */
char *zoo_read(const char *path, size_t *len);

/* Read MODELS/NAME.fx by the help of DIGESTS/NAME.json. `m` must be zeroed;
 * close it also on failure. */
cfx_status zoo_open(zoo_model *m, cfx_context *ctx, const char *models,
                    const char *digests, const char *name, cfx_error *err);
/* Fill the weights, and make the inputs of the digest. */
cfx_status zoo_fill(zoo_model *m, cfx_error *err);
void zoo_close(zoo_model *m);

#endif
