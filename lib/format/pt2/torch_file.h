/*
 * torch_file.h -- files of torch.save within an archive. Not installed.
 */
#ifndef CFX_PT2_TORCH_FILE_H
#define CFX_PT2_TORCH_FILE_H

#include "format/pt2/pt2_pickle.h"
#include "format/pt2/pt2.h"

typedef struct cfx_torch_file {
    cfx_bytes bytes;
    cfx_pt2_archive archive; /* over the bytes */
    cfx_arena arena;
    cfx_pickled *value; /* that was saved */
    size_t pickle_size; /* in bytes */
    cfx_map storages;   /* key -> cfx_tensor of one axis */
} cfx_torch_file;

/* Open and unpickle a file of an archive; close it, also on failure. */
cfx_status cfx_torch_file_open(cfx_torch_file *f, cfx_pt2_archive *a,
                               const char *name, cfx_error *err);
void cfx_torch_file_close(cfx_torch_file *f);
/* Make a tensor of what was unpickled. Those that share a storage share
 * memory. Fails with CFX_EPARSE for a value that is no tensor. */
cfx_status cfx_torch_file_tensor(cfx_tensor **out, cfx_torch_file *f,
                                 const cfx_pickled *v, cfx_error *err);

#endif
