/*
 * winograd_1d.h -- the one-dimensional transformations of F(4, 3), on vectors.
 *
 * The points are 0, a, -a, b, -b and infinity, where a = 3/4 and b = 3/2: exact in
 * binary, and a third of the error of 1 and 2. Inputs are multiplied by the
 * coefficients of the products of (x - point) of all points but one, outputs by
 * the powers 0 to 3 of the points.
 */
#ifndef CFX_KERNEL_WINOGRAD_1D_H
#define CFX_KERNEL_WINOGRAD_1D_H

#include "kernel/vec/vec.h"

#define A 0.75F
#define B 1.5F
#define AA (A * A)
#define BB (B * B)

CFX_FORCE_INLINE void input_1d(vf y[6], const vf x[6])
{
    vf even_a = vf_fma(vf_set1(-BB), x[2], x[4]);
    vf even_b = vf_fma(vf_set1(-AA), x[2], x[4]);
    vf odd_a = vf_fma(vf_set1(-BB), x[1], x[3]);
    vf odd_b = vf_fma(vf_set1(-AA), x[1], x[3]);
    vf product = vf_set1(AA * BB), sum = vf_set1(-(AA + BB));

    y[0] = vf_fma(product, x[0], vf_fma(sum, x[2], x[4]));
    y[1] = vf_fma(vf_set1(A), odd_a, even_a);
    y[2] = vf_fma(vf_set1(-A), odd_a, even_a);
    y[3] = vf_fma(vf_set1(B), odd_b, even_b);
    y[4] = vf_fma(vf_set1(-B), odd_b, even_b);
    y[5] = vf_fma(product, x[1], vf_fma(sum, x[3], x[5]));
}

CFX_FORCE_INLINE void output_1d(vf y[4], const vf x[6])
{
    vf even_a = vf_add(x[1], x[2]), odd_a = vf_sub(x[1], x[2]);
    vf even_b = vf_add(x[3], x[4]), odd_b = vf_sub(x[3], x[4]);

    y[0] = vf_add(x[0], vf_add(even_a, even_b));
    y[1] = vf_fma(vf_set1(A), odd_a, vf_mul(vf_set1(B), odd_b));
    y[2] = vf_fma(vf_set1(AA), even_a, vf_mul(vf_set1(BB), even_b));
    y[3] = vf_fma(vf_set1(A * AA), odd_a,
                  vf_fma(vf_set1(B * BB), odd_b, x[5]));
}

#endif
