/*
 * special.h -- special functions of doubles, which the loops of pointwise.def
 * call.
 *
 * They are compiled once: nothing in them becomes a vector, and so all levels
 * give the same. f32 is computed in double too. Names, poles and what lies
 * outside of a function's domain are PyTorch's. Errors are relative unless
 * noted, for results that are normal numbers.
 */
#ifndef CFX_SPECIAL_H
#define CFX_SPECIAL_H

/* ---- gamma.c ---- */

/* The logarithmic derivative of gamma: 1e-15, absolute near its zeros. */
double cfx_kernel_digamma(double x);
/* Its n-th derivative, n a whole number of at least 0: 1e-13. */
double cfx_kernel_polygamma(double n, double x);
/* Hurwitz's zeta function: 1e-14 for q > 0. */
double cfx_kernel_zeta(double x, double q);
/* The regularized incomplete gamma functions, lower and upper: 1e-12, absolute
 * for a above 1e5. */
double cfx_kernel_igamma(double a, double x);
double cfx_kernel_igammac(double a, double x);

/* ---- error.c ---- */

/* The inverse of erf: 1e-15. */
double cfx_kernel_erfinv(double x);
/* The normal distribution's quantiles: 1e-15. */
double cfx_kernel_ndtri(double p);
/* exp(x^2) erfc(x): 1e-15. */
double cfx_kernel_erfcx(double x);
/* The logarithm of the normal distribution's cumulative probability: 1e-15. */
double cfx_kernel_log_ndtr(double x);

/* ---- bessel.c ---- */

/* Modified Bessel functions of the first kind, also times exp(-|x|), and of
 * the second, also times exp(x): 1e-14. */
double cfx_kernel_i0(double x);
double cfx_kernel_i0e(double x);
double cfx_kernel_i1(double x);
double cfx_kernel_i1e(double x);
double cfx_kernel_k0(double x);
double cfx_kernel_k0e(double x);
double cfx_kernel_k1(double x);
double cfx_kernel_k1e(double x);
/* Bessel functions of the first and the second kind, as accurate as the C
 * library's. */
double cfx_kernel_j0(double x);
double cfx_kernel_j1(double x);
double cfx_kernel_y0(double x);
double cfx_kernel_y1(double x);
/* sin(x) / x. */
double cfx_kernel_spherical_j0(double x);
/* Airy's function Ai: 1e-13 for x > 0, else 5e-11 absolute. */
double cfx_kernel_airy_ai(double x);

/* ---- polynomial.c ---- */

/*
 * Orthogonal polynomials of degree n, which is truncated: 0 for negative ones.
 * The recurrences run up to a degree of 65536, and give NaN beyond.
 */
double cfx_kernel_chebyshev_t(double x, double n);
double cfx_kernel_chebyshev_u(double x, double n);
double cfx_kernel_chebyshev_v(double x, double n);
double cfx_kernel_chebyshev_w(double x, double n);
/* `limit`: the degree beyond which the result is NaN, as numbers of the type
 * overflow. */
double cfx_kernel_hermite_h(double x, double n, double limit);
double cfx_kernel_hermite_he(double x, double n, double limit);
double cfx_kernel_laguerre_l(double x, double n);
double cfx_kernel_legendre_p(double x, double n);

#endif
