/*
 * zip.h -- zip archives whose claims are checked. Not installed.
 */
#ifndef CFX_FORMAT_ZIP_H
#define CFX_FORMAT_ZIP_H

#include <zip.h>

#include "format/io.h"

typedef struct cfx_zip {
    cfx_context *ctx;
    zip_t *zip;
    size_t n;      /* entries */
    uint64_t left; /* bytes of the archive that no checked entry claims */
    uint64_t size; /* bytes of the file; of one in memory, of the file around
                      it */
} cfx_zip;

/* Open an archive. Fails with CFX_EIO, CFX_EPARSE, CFX_ENOMEM. */
cfx_status cfx_zip_open(cfx_zip *z, cfx_file *f, cfx_error *err);
/* Open one in memory, which must outlive it; it stood in a file of `whole`
 * bytes. */
cfx_status cfx_zip_open_memory(cfx_zip *z, cfx_context *ctx, const void *data,
                               size_t size, uint64_t whole, cfx_error *err);
/* A zeroed one is allowed. */
void cfx_zip_close(cfx_zip *z);

/*
 * The name and size of entry i, which is to be asked for once: together the
 * entries may not claim more bytes than the file has. Refused are entries that
 * are encrypted, packed by a method other than deflate, or that would inflate
 * out of proportion to their bytes. The name lives as long as the archive.
 */
cfx_status cfx_zip_entry(const char **name, uint64_t *size, cfx_zip *z,
                         size_t i, cfx_error *err);
/* Fail with CFX_EPARSE for names that would leave a directory if they were
 * unpacked. */
cfx_status cfx_zip_check_name(const char *name, cfx_error *err);

/* Read entry i piece by piece: open it, append to b until it has `upto` bytes,
 * and finish, which compares the checksum. zip_fclose closes it. */
cfx_status cfx_zip_file_open(zip_file_t **file, cfx_zip *z, size_t i,
                             cfx_error *err);
cfx_status cfx_zip_file_read(zip_file_t *file, cfx_bytes *b, size_t upto,
                             cfx_error *err);
cfx_status cfx_zip_file_finish(zip_file_t *file, cfx_error *err);

/* Read the `size` bytes of entry i. Release *out. */
cfx_status cfx_zip_read(cfx_bytes *out, cfx_zip *z, size_t i, uint64_t size,
                        cfx_error *err);

/* ---- zip_place.c ---- */

/* Find where the data of each of the n entries begins in a file; 0 for those that
 * are packed or not found. These are only claims. */
void cfx_zip_places(uint64_t *place, size_t n, const unsigned char *file,
                    size_t size);
/* Are the bytes of entry i those at `data`? Reads the entry, and checks its
 * checksum. */
cfx_status cfx_zip_is_at(bool *same, cfx_zip *z, size_t i,
                         const unsigned char *data, size_t size,
                         cfx_error *err);

#endif
