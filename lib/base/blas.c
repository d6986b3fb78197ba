/*
 * blas -- OpenBLAS on one thread.
 *
 * The pool calls BLAS from its own threads; OpenBLAS's pool would compete for
 * the same cores. OpenBLAS has one setting per process, which is written only
 * if it is not 1. Other BLAS libraries lack these functions, hence the weak
 * references.
 */
#include "base/context_impl.h"

#ifdef HAVE_CBLAS

#pragma weak openblas_get_num_threads
#pragma weak openblas_set_num_threads
int openblas_get_num_threads(void);
void openblas_set_num_threads(int n);

bool cfx_blas_one_thread(void)
{
    if (openblas_get_num_threads && openblas_set_num_threads &&
        openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    return true;
}

#else

bool cfx_blas_one_thread(void)
{
    return false;
}

#endif
