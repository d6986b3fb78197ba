/*
 * zip_write.h -- write zip archives of entries as they are, without packing.
 * Not installed.
 *
 * The data of each entry begins at a multiple of 64 bytes, so that it can be
 * mapped and read in place. Archives and entries beyond 4 GiB are ZIP64.
 */
#ifndef CFX_FORMAT_ZIP_WRITE_H
#define CFX_FORMAT_ZIP_WRITE_H

#include <cfx/text.h>

#include "base/util.h"

typedef struct cfx_zip_written {
    char *name;
    uint64_t size, at; /* at: of its header */
    uint32_t crc;
} cfx_zip_written;

typedef struct cfx_zip_writer {
    cfx_context *ctx;
    cfx_sink to;
    uint64_t at;
    cfx_zip_written *entry;
    size_t n, cap;
    cfx_arena names;
    uint32_t crc[8][256]; /* tables, for eight bytes at a time */
} cfx_zip_writer;

void cfx_zip_writer_init(cfx_zip_writer *z, cfx_context *ctx, cfx_sink to);
/* Release it, also after a failure. */
void cfx_zip_writer_release(cfx_zip_writer *z);

/* Add an entry; names must differ. Fails with CFX_ENOMEM, and as the sink
 * does. */
cfx_status cfx_zip_writer_add(cfx_zip_writer *z, const char *name,
                              const void *data, size_t size, cfx_error *err);
/* Write the directory. */
cfx_status cfx_zip_writer_finish(cfx_zip_writer *z, cfx_error *err);

#endif
