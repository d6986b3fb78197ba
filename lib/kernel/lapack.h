/*
 * lapack.h -- LAPACK's factorizations and solvers, in float32, float64,
 * complex64 and complex128. Not installed.
 *
 * Matrices are column-major without gaps, m rows and n columns unless noted;
 * `upper` selects a triangle, `transpose` the transposed factor. Functions work
 * in place and return LAPACK's info: 0, or the number, from 1, of the pivot or
 * minor that stopped them.
 *
 * Functions with `work` take the number of its elements in `lwork`. With
 * lwork -1 they only write that number to work[0], an element, for
 * cfx_lapack_asked.
 */
#ifndef CFX_LAPACK_H
#define CFX_LAPACK_H

#include <cfx/context.h>
#include <cfx/dtype.h>

/* Was the library built with LAPACK? Without it the functions do nothing. */
bool cfx_have_lapack(void);

/* The elements of work that a query asked for; for float32 rounded up, since a
 * float cannot hold every number. */
size_t cfx_lapack_asked(cfx_dtype t, const void *work);

/* ---- Factorizations ---- */

/* Cholesky's, of one triangle of an n x n matrix. */
int cfx_lapack_potrf(cfx_dtype t, bool upper, int n, void *a);
/* P L U with the row exchanges in pivot. */
int cfx_lapack_getrf(cfx_dtype t, int m, int n, void *a, int *pivot);
/* L D L^T of a symmetric matrix, or L D L^H of a Hermitian one, from its lower
 * triangle. */
int cfx_lapack_sytrf(cfx_dtype t, bool hermitian, int n, void *a, int *pivot,
                     void *work, int lwork);
/* Q R, as R and the reflectors below it. */
int cfx_lapack_geqrf(cfx_dtype t, int m, int n, void *a, void *tau, void *work,
                     int lwork);
/* The first n columns of the product of k reflectors. */
int cfx_lapack_orgqr(cfx_dtype t, int m, int n, int k, void *a,
                     const void *tau, void *work, int lwork);
/* C = Q C or C Q (or Q^T), C of m x n; `a` holds k reflectors in columns. */
int cfx_lapack_ormqr(cfx_dtype t, bool left, bool transpose, int m, int n,
                     int k, const void *a, const void *tau, void *c,
                     void *work, int lwork);
/* Eigenvalues in rising order, and with `vectors` the eigenvectors in a. */
int cfx_lapack_syevd(cfx_dtype t, bool vectors, bool upper, int n, void *a,
                     void *w, void *work, int lwork, int *iwork, int liwork);
/* Eigenvalues of any square matrix, which is overwritten: complex ones in w, or
 * of a real matrix the real parts and after them the imaginary parts. With
 * `vectors` the eigenvectors are columns of v; of a real matrix, the real and
 * the imaginary part of the first of a conjugate pair are two columns. */
int cfx_lapack_geev(cfx_dtype t, bool vectors, int n, void *a, void *w,
                    void *v, void *work, int lwork);
/* Singular values in falling order: job 'N' alone, 'S' with the first min(m, n)
 * singular vectors, 'A' with all. iwork has 8 min(m, n) elements. */
int cfx_lapack_gesdd(cfx_dtype t, char job, int m, int n, void *a, void *s,
                     void *u, void *vt, void *work, int lwork, int *iwork);

/* ---- Solvers ---- */

/* X of A X = B (`left`) or X A = B, over B of m x n; A is triangular. */
void cfx_lapack_trsm(cfx_dtype t, bool left, bool upper, bool transpose,
                     bool unit, int m, int n, const void *a, void *b);
/* B of n x nrhs, with what the factorization of the same name left in a. */
int cfx_lapack_potrs(cfx_dtype t, bool upper, int n, int nrhs, const void *a,
                     void *b);
/* `form` is 'N', 'T' for A^T or 'C' for A^H. */
int cfx_lapack_getrs(cfx_dtype t, char form, int n, int nrhs, const void *a,
                     const int *pivot, void *b);
int cfx_lapack_sytrs(cfx_dtype t, bool hermitian, int n, int nrhs,
                     const void *a, const int *pivot, void *b);
/* One triangle of the inverse, from that of Cholesky's factor. */
int cfx_lapack_potri(cfx_dtype t, bool upper, int n, void *a);

/* Least squares; b has max(m, n) rows. */
int cfx_lapack_gels(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                    void *work, int lwork);
/* jpvt has n elements, zeroed. A query of gelsd also writes to iwork[0]. */
int cfx_lapack_gelsy(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     int *jpvt, double rcond, int *rank, void *work,
                     int lwork);
int cfx_lapack_gelsd(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork,
                     int *iwork);
int cfx_lapack_gelss(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork);

#endif
