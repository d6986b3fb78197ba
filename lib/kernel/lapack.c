/*
 * lapack -- calls of LAPACK by its Fortran names.
 *
 * OpenBLAS exports them, without a header. All arguments are pointers; the
 * lengths of strings follow the others, as gfortran passes them.
 */
#include "kernel/lapack.h"

#include <limits.h>
#include <string.h>

#ifdef HAVE_LAPACK

#define ROUTINE(name, ...)                                                    \
    void s##name##_(__VA_ARGS__);                                             \
    void d##name##_(__VA_ARGS__)
#define COMPLEX_ROUTINE(name, ...)                                            \
    void c##name##_(__VA_ARGS__);                                             \
    void z##name##_(__VA_ARGS__)
#define ROUTINES(name, ...)                                                   \
    ROUTINE(name, __VA_ARGS__);                                               \
    COMPLEX_ROUTINE(name, __VA_ARGS__)

typedef const char *word;
typedef const int *size;

ROUTINES(potrf, word, size, void *, size, int *, size_t);
ROUTINES(getrf, size, size, void *, size, int *, int *);
ROUTINES(sytrf, word, size, void *, size, int *, void *, size, int *, size_t);
ROUTINES(geqrf, size, size, void *, size, void *, void *, size, int *);
ROUTINE(orgqr, size, size, size, void *, size, const void *, void *, size,
        int *);
COMPLEX_ROUTINE(ungqr, size, size, size, void *, size, const void *, void *,
                size, int *);
COMPLEX_ROUTINE(unmqr, word, word, size, size, size, const void *, size,
                const void *, void *, size, void *, size, int *, size_t,
                size_t);
COMPLEX_ROUTINE(hetrf, word, size, void *, size, int *, void *, size, int *,
                size_t);
COMPLEX_ROUTINE(hetrs, word, size, size, const void *, size, const int *,
                void *, size, int *, size_t);
COMPLEX_ROUTINE(heevd, word, word, size, void *, size, void *, void *, size,
                void *, size, int *, size, int *, size_t, size_t);
ROUTINE(geev, word, word, size, void *, size, void *, void *, void *, size,
        void *, size, void *, size, int *, size_t, size_t);
COMPLEX_ROUTINE(geev, word, word, size, void *, size, void *, void *, size,
                void *, size, void *, size, void *, int *, size_t, size_t);
COMPLEX_ROUTINE(gesdd, word, size, size, void *, size, void *, void *, size,
                void *, size, void *, size, void *, int *, int *, size_t);
ROUTINE(ormqr, word, word, size, size, size, const void *, size, const void *,
        void *, size, void *, size, int *, size_t, size_t);
ROUTINE(syevd, word, word, size, void *, size, void *, void *, size, int *,
        size, int *, size_t, size_t);
ROUTINE(gesdd, word, size, size, void *, size, void *, void *, size, void *,
        size, void *, size, int *, int *, size_t);
ROUTINES(trsm, word, word, word, word, size, size, const void *, const void *,
         size, void *, size, size_t, size_t, size_t, size_t);
ROUTINES(potrs, word, size, size, const void *, size, void *, size, int *,
         size_t);
ROUTINES(getrs, word, size, size, const void *, size, const int *, void *,
         size, int *, size_t);
ROUTINES(sytrs, word, size, size, const void *, size, const int *, void *,
         size, int *, size_t);
ROUTINES(potri, word, size, void *, size, int *, size_t);
ROUTINES(gels, word, size, size, size, void *, size, void *, size, void *,
         size, int *, size_t);
ROUTINE(gelsy, size, size, size, void *, size, void *, size, int *,
        const void *, int *, void *, size, int *);
COMPLEX_ROUTINE(gelsy, size, size, size, void *, size, void *, size, int *,
                const void *, int *, void *, size, void *, int *);
ROUTINE(gelsd, size, size, size, void *, size, void *, size, void *,
        const void *, int *, void *, size, int *, int *);
COMPLEX_ROUTINE(gelsd, size, size, size, void *, size, void *, size, void *,
                const void *, int *, void *, size, void *, int *, int *);
ROUTINE(gelss, size, size, size, void *, size, void *, size, void *,
        const void *, int *, void *, size, int *);
COMPLEX_ROUTINE(gelss, size, size, size, void *, size, void *, size, void *,
                const void *, int *, void *, size, void *, int *);

#define REAL(t, name, ...)                                                    \
    ((t) == CFX_F64 ? d##name##_ : s##name##_)(__VA_ARGS__)
#define COMPLEX(t, name, ...)                                                 \
    ((t) == CFX_C128 ? z##name##_ : c##name##_)(__VA_ARGS__)
/* A routine of two names, for real and complex numbers. */
#define CALL_EITHER(t, real, complex, ...)                                    \
    (cfx_dtype_is_complex(t) ? COMPLEX(t, complex, __VA_ARGS__)               \
                             : REAL(t, real, __VA_ARGS__))
#define CALL(t, name, ...) CALL_EITHER(t, name, name, __VA_ARGS__)

bool cfx_have_lapack(void)
{
    return true;
}

#else

static void nothing(const void *first, ...)
{
    (void)first;
}

#define REAL(t, name, ...) ((void)(t), nothing(__VA_ARGS__))
#define COMPLEX(t, name, ...) ((void)(t), nothing(__VA_ARGS__))
#define CALL_EITHER(t, real, complex, ...) ((void)(t), nothing(__VA_ARGS__))
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

/* Complex routines want real numbers too, which follow the work: elements of
 * two. A query asks for both. */
static int real_work(int numbers)
{
    return (numbers + 1) / 2;
}

static void ask_more(cfx_dtype t, void *work, int more)
{
    double asked = (double)cfx_lapack_asked(t, work) + more;
    if (t == CFX_C128)
        *(double *)work = asked;
    else
        *(float *)work = (float)asked;
}

static void *behind(cfx_dtype t, void *work, int lwork)
{
    return (char *)work + (size_t)lwork * cfx_dtype_size(t);
}

size_t cfx_lapack_asked(cfx_dtype t, const void *work)
{
    if (t == CFX_F64 || t == CFX_C128)
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

int cfx_lapack_sytrf(cfx_dtype t, bool hermitian, int n, void *a, int *pivot,
                     void *work, int lwork)
{
    int lda = lead(n), info = 0;
    if (hermitian && cfx_dtype_is_complex(t))
        COMPLEX(t, hetrf, "L", &n, a, &lda, pivot, work, &lwork, &info,
                (size_t)1);
    else
        CALL(t, sytrf, "L", &n, a, &lda, pivot, work, &lwork, &info,
             (size_t)1);
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
    CALL_EITHER(t, orgqr, ungqr, &m, &n, &k, a, &lda, tau, work, &lwork,
                &info);
    return info;
}

int cfx_lapack_ormqr(cfx_dtype t, bool left, bool transpose, int m, int n,
                     int k, const void *a, const void *tau, void *c,
                     void *work, int lwork)
{
    int lda = lead(left ? m : n), ldc = lead(m), info = 0;
    const char *turned = cfx_dtype_is_complex(t) ? "C" : "T";
    CALL_EITHER(t, ormqr, unmqr, left ? "L" : "R", transpose ? turned : "N",
                &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info,
                (size_t)1, (size_t)1);
    return info;
}

int cfx_lapack_syevd(cfx_dtype t, bool vectors, bool upper, int n, void *a,
                     void *w, void *work, int lwork, int *iwork, int liwork)
{
    int lda = lead(n), info = 0;
    if (cfx_dtype_is_complex(t)) {
        int numbers = vectors ? 1 + n * (5 + 2 * n) : n, all = lwork;
        int more = real_work(numbers > 1 ? numbers : 1);
        lwork -= all < 0 ? 0 : more;
        numbers = all < 0 ? -1 : 2 * more;
        double asked = 0;
        COMPLEX(t, heevd, vectors ? "V" : "N", triangle(upper), &n, a, &lda, w,
                work, &lwork, all < 0 ? &asked : behind(t, work, lwork),
                &numbers, iwork, &liwork, &info, (size_t)1, (size_t)1);
        if (all < 0)
            ask_more(t, work, more);
        return info;
    }
    REAL(t, syevd, vectors ? "V" : "N", triangle(upper), &n, a, &lda, w, work,
         &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
    return info;
}

int cfx_lapack_gesdd(cfx_dtype t, char job, int m, int n, void *a, void *s,
                     void *u, void *vt, void *work, int lwork, int *iwork)
{
    int k = m < n ? m : n, lda = lead(m), ldu = lead(m), info = 0;
    int ldvt = lead(job == 'A' ? n : k);
    if (cfx_dtype_is_complex(t)) {
        int l = m > n ? m : n, all = lwork;
        int more = real_work(k * (5 * k + 7 > 2 * l + 2 * k + 1
                                      ? 5 * k + 7
                                      : 2 * l + 2 * k + 1));
        lwork -= all < 0 ? 0 : more;
        COMPLEX(t, gesdd, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work,
                &lwork, behind(t, work, all < 0 ? 0 : lwork), iwork, &info,
                (size_t)1);
        if (all < 0)
            ask_more(t, work, more);
        return info;
    }
    REAL(t, gesdd, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork,
         iwork, &info, (size_t)1);
    return info;
}

int cfx_lapack_geev(cfx_dtype t, bool vectors, int n, void *a, void *w,
                    void *v, void *work, int lwork)
{
    int ld = lead(n), one = 1, info = 0;
    const char *job = vectors ? "V" : "N";
    if (cfx_dtype_is_complex(t)) {
        int all = lwork;
        lwork -= all < 0 ? 0 : n;
        COMPLEX(t, geev, "N", job, &n, a, &ld, w, NULL, &one, v, &ld, work,
                &lwork, behind(t, work, all < 0 ? 0 : lwork), &info, (size_t)1,
                (size_t)1);
        if (all < 0)
            ask_more(t, work, n);
        return info;
    }
    void *imaginary = w ? behind(t, w, n) : NULL;
    REAL(t, geev, "N", job, &n, a, &ld, w, imaginary, NULL, &one, v, &ld, work,
         &lwork, &info, (size_t)1, (size_t)1);
    return info;
}

void cfx_lapack_trsm(cfx_dtype t, bool left, bool upper, bool transpose,
                     bool unit, int m, int n, const void *a, void *b)
{
    const double one[] = {1, 0};
    const float onef[] = {1, 0};
    const void *alpha = t == CFX_F64 || t == CFX_C128 ? (const void *)one
                                                      : onef;
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

int cfx_lapack_getrs(cfx_dtype t, char form, int n, int nrhs, const void *a,
                     const int *pivot, void *b)
{
    int ld = lead(n), info = 0;
    CALL(t, getrs, &form, &n, &nrhs, a, &ld, pivot, b, &ld, &info, (size_t)1);
    return info;
}

int cfx_lapack_sytrs(cfx_dtype t, bool hermitian, int n, int nrhs,
                     const void *a, const int *pivot, void *b)
{
    int ld = lead(n), info = 0;
    if (hermitian && cfx_dtype_is_complex(t))
        COMPLEX(t, hetrs, "L", &n, &nrhs, a, &ld, pivot, b, &ld, &info,
                (size_t)1);
    else
        CALL(t, sytrs, "L", &n, &nrhs, a, &ld, pivot, b, &ld, &info,
             (size_t)1);
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

/* A real number of the matrices' precision. */
typedef union number {
    float f;
    double d;
} number;

static number of_type(cfx_dtype t, double v)
{
    number n;
    if (t == CFX_F64 || t == CFX_C128)
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
    if (cfx_dtype_is_complex(t)) {
        bool asks = lwork < 0;
        lwork -= asks ? 0 : n;
        COMPLEX(t, gelsy, &m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &least, rank,
                work, &lwork, behind(t, work, asks ? 0 : lwork), &info);
        if (asks)
            ask_more(t, work, n);
        return info;
    }
    REAL(t, gelsy, &m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &least, rank, work,
         &lwork, &info);
    return info;
}

/* The real numbers that gelsd wants, only a query tells. */
static int complex_gelsd(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                         void *s, double rcond, int *rank, void *work,
                         int lwork, int *iwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), query = -1, integers = 0, info = 0;
    double asked[2] = {0}, numbers[2] = {0};
    COMPLEX(t, gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, asked,
            &query, numbers, &integers, &info);
    int more = real_work((int)cfx_lapack_asked(t, numbers));
    if (lwork < 0) {
        memcpy(work, asked, cfx_dtype_size(t));
        ask_more(t, work, more);
        *iwork = integers;
        return info;
    }
    lwork -= more;
    COMPLEX(t, gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work,
            &lwork, behind(t, work, lwork), iwork, &info);
    return info;
}

int cfx_lapack_gelsd(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork,
                     int *iwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), info = 0;
    if (cfx_dtype_is_complex(t))
        return complex_gelsd(t, m, n, nrhs, a, b, s, rcond, rank, work, lwork,
                             iwork);
    REAL(t, gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work,
         &lwork, iwork, &info);
    return info;
}

int cfx_lapack_gelss(cfx_dtype t, int m, int n, int nrhs, void *a, void *b,
                     void *s, double rcond, int *rank, void *work, int lwork)
{
    const number least = of_type(t, rcond);
    int lda = lead(m), ldb = longer(m, n), info = 0;
    if (cfx_dtype_is_complex(t)) {
        bool asks = lwork < 0;
        int more = real_work(5 * (m < n ? m : n));
        lwork -= asks ? 0 : more;
        COMPLEX(t, gelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank,
                work, &lwork, behind(t, work, asks ? 0 : lwork), &info);
        if (asks)
            ask_more(t, work, more);
        return info;
    }
    REAL(t, gelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &least, rank, work,
         &lwork, &info);
    return info;
}
