/*
 * lapack -- calls of LAPACK by its Fortran names.
 *
 * OpenBLAS exports them, without a header. All arguments are pointers; the
 * lengths of strings follow the others, as gfortran passes them.
 */
#include "kernel/lapack.h"

#include <limits.h>

#ifdef HAVE_LAPACK

#define ROUTINE(name, ...)                                                    \
    void s##name##_(__VA_ARGS__);                                             \
    void d##name##_(__VA_ARGS__)

typedef const char *word;
typedef const int *size;

ROUTINE(potrf, word, size, void *, size, int *, size_t);
ROUTINE(getrf, size, size, void *, size, int *, int *);
ROUTINE(sytrf, word, size, void *, size, int *, void *, size, int *, size_t);
ROUTINE(geqrf, size, size, void *, size, void *, void *, size, int *);
ROUTINE(orgqr, size, size, size, void *, size, const void *, void *, size,
        int *);
ROUTINE(ormqr, word, word, size, size, size, const void *, size, const void *,
        void *, size, void *, size, int *, size_t, size_t);
ROUTINE(syevd, word, word, size, void *, size, void *, void *, size, int *,
        size, int *, size_t, size_t);
ROUTINE(gesdd, word, size, size, void *, size, void *, void *, size, void *,
        size, void *, size, int *, int *, size_t);
ROUTINE(trsm, word, word, word, word, size, size, const void *, const void *,
        size, void *, size, size_t, size_t, size_t, size_t);
ROUTINE(potrs, word, size, size, const void *, size, void *, size, int *,
        size_t);
ROUTINE(getrs, word, size, size, const void *, size, const int *, void *, size,
        int *, size_t);
ROUTINE(sytrs, word, size, size, const void *, size, const int *, void *, size,
        int *, size_t);
ROUTINE(potri, word, size, void *, size, int *, size_t);
ROUTINE(gels, word, size, size, size, void *, size, void *, size, void *, size,
        int *, size_t);
ROUTINE(gelsy, size, size, size, void *, size, void *, size, int *,
        const void *, int *, void *, size, int *);
ROUTINE(gelsd, size, size, size, void *, size, void *, size, void *,
        const void *, int *, void *, size, int *, int *);
ROUTINE(gelss, size, size, size, void *, size, void *, size, void *,
        const void *, int *, void *, size, int *);

#define CALL(t, name, ...)                                                    \
    ((t) == CFX_F64 ? d##name##_ : s##name##_)(__VA_ARGS__)

bool cfx_have_lapack(void)
{
    return true;
}

#else

static void nothing(const void *first, ...)
{
    (void)first;
}

#define CALL(t, name, ...) ((void)(t), nothing(__VA_ARGS__))

bool cfx_have_lapack(void)
{
    return false;
}

#endif

/* Leading dimensions are at least 1. */
static int lead(int rows)
{
    return rows > 1 ? rows : 1;
}

static const char *triangle(bool upper)
{
    return upper ? "U" : "L";
}

static const char *form(bool transpose)
{
    return transpose ? "T" : "N";
}

size_t cfx_lapack_asked(cfx_dtype t, const void *work)
{
    if (t == CFX_F64)
        return (size_t) * (const double *)work;
    size_t n = (size_t) * (const float *)work;
    return n + (n >> 22);
}

int cfx_lapack_potrf(cfx_dtype t, bool upper, int n, void *a)
{
    int lda = lead(n), info = 0;
    CALL(t, potrf, triangle(upper), &n, a, &lda, &info, (size_t)1);
    return info;
}

int cfx_lapack_getrf(cfx_dtype t, int m, int n, void *a, int *pivot)
{
    int lda = lead(m), info = 0;
    CALL(t, getrf, &m, &n, a, &lda, pivot, &info);
    return info;
}

int cfx_lapack_sytrf(cfx_dtype t, int n, void *a, int *pivot, void *work,
                     int lwork)
{
    int lda = lead(n), info = 0;
    CALL(t, sytrf, "L", &n, a, &lda, pivot, work, &lwork, &info, (size_t)1);
    return info;
}

int cfx_lapack_geqrf(cfx_dtype t, int m, int n, void *a, void *tau, void *work,
                     int lwork)
{
    int lda = lead(m), info = 0;
    CALL(t, geqrf, &m, &n, a, &lda, tau, work, &lwork, &info);
    return info;
}

int cfx_lapack_orgqr(cfx_dtype t, int m, int n, int k, void *a,
                     const void *tau, void *work, int lwork)
{
    int lda = lead(m), info = 0;
    CALL(t, orgqr, &m, &n, &k, a, &lda, tau, work, &lwork, &info);
    return info;
}

int cfx_lapack_ormqr(cfx_dtype t, bool left, bool transpose, int m, int n,
                     int k, const void *a, const void *tau, void *c,
                     void *work, int lwork)
{
    int lda = lead(left ? m : n), ldc = lead(m), info = 0;
    CALL(t, ormqr, left ? "L" : "R", form(transpose), &m, &n, &k, a, &lda, tau,
         c, &ldc, work, &lwork, &info, (size_t)1, (size_t)1);
    return info;
}

int cfx_lapack_syevd(cfx_dtype t, bool vectors, bool upper, int n, void *a,
                     void *w, void *work, int lwork, int *iwork, int liwork)
{
    int lda = lead(n), info = 0;
    CALL(t, syevd, vectors ? "V" : "N", triangle(upper), &n, a, &lda, w, work,
         &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
    return info;
}

int cfx_lapack_gesdd(cfx_dtype t, char job, int m, int n, void *a, void *s,
                     void *u, void *vt, void *work, int lwork, int *iwork)
{
    int k = m < n ? m : n, lda = lead(m), ldu = lead(m), info = 0;
    int ldvt = lead(job == 'A' ? n : k);
    CALL(t, gesdd, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork,
         iwork, &info, (size_t)1);
    return info;
}

void cfx_lapack_trsm(cfx_dtype t, bool left, bool upper, bool transpose,
                     bool unit, int m, int n, const void *a, void *b)
{
    const double one = 1;
    const float onef = 1;
    const void *alpha = t == CFX_F64 ? (const void *)&one : &onef;
    int lda = lead(left ? m : n), ldb = lead(m);
    CALL(t, trsm, left ? "L" : "R", triangle(upper), form(transpose),
         unit ? "U" : "N", &m, &n, alpha, a, &lda, b, &ldb, (size_t)1,
         (size_t)1, (size_t)1, (size_t)1);
}

int cfx_lapack_potrs(cfx_dtype t, bool upper, int n, int nrhs, const void *a,
                     void *b)
{
    int ld = lead(n), info = 0;
    CALL(t, potrs, triangle(upper), &n, &nrhs, a, &ld, b, &ld, &info,
         (size_t)1);
    return info;
}

int cfx_lapack_getrs(cfx_dtype t, bool transpose, int n, int nrhs,
                     const void *a, const int *pivot, void *b)
{
    int ld = lead(n), info = 0;
    CALL(t, getrs, form(transpose), &n, &nrhs, a, &ld, pivot, b, &ld, &info,
         (size_t)1);
    return info;
}

int cfx_lapack_sytrs(cfx_dtype t, int n, int nrhs, const void *a,
                     const int *pivot, void *b)
{
    int ld = lead(n), info = 0;
    CALL(t, sytrs, "L", &n, &nrhs, a, &ld, pivot, b, &ld, &info, (size_t)1);
    return info;
}

int cfx_lapack_potri(cfx_dtype t, bool upper, int n, void *a)
{
    int lda = lead(n), info = 0;
    CALL(t, potri, triangle(upper), &n, a, &lda, &info, (size_t)1);
    return info;
}

/* ---- Least squares ---- */

static int longer(int m, int n)
{
    return lead(m > n ? m : n);
}

/* A number in the type of the matrices. */
typedef union number {
    float f;
    double d;
} number;

static number of_type(cfx_dtype t, double v)
{
    number n;
    if (t == CFX_F64)
        n.d = v;
    else
        n.f = (float)v;
    return n;
}

int cfx_lapack_gels(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                    void *work, int lwork)
{
    int lda = lead(m), ldb = longer(m, n), info = 0;
    CALL(t, gels, "N", &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork, &info,
         (size_t)1);
    return info;
}

int cfx_lapack_gelsy(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     int *jpvt, double rcond, int *rank, void *work, int lwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), info = 0;
    CALL(t, gelsy, &m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &least, rank, work,
         &lwork, &info);
    return info;
}

int cfx_lapack_gelsd(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork,
                     int *iwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), info = 0;
    CALL(t, gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work,
         &lwork, iwork, &info);
    return info;
}

int cfx_lapack_gelss(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), info = 0;
    CALL(t, gelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work,
         &lwork, &info);
    return info;
}
