// SPDX-License-Identifier: Apache-2.0
// Draws of the distributions of docs/formats/kernel.md#distributions.
#include <math.h>

#include "kernel.h"

/// Constants of Philox4x32: Salmon et al., SC'11.
static const uint32_t kMultiplier0 = 0xD2511F53;
static const uint32_t kMultiplier1 = 0xCD9E8D57;
static const uint32_t kWeyl0 = 0x9E3779B9;
static const uint32_t kWeyl1 = 0xBB67AE85;
enum { kRounds = 10 };

/// The calls of draws within a draw of walkers, and of the parts of a mixture.
static const uint32_t kPartAttempt = 0x10000;

static double uniform_of(uint32_t high, uint32_t low) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;  // 53 bits
  return ((double)bits + 0.5) * 0x1p-53;
}

void fk_uniforms(const struct fk_draw_at* at, uint32_t attempt, double uniforms[2]) {
  uint32_t key0 = (uint32_t)at->seed;
  uint32_t key1 = (uint32_t)(at->seed >> 32) ^ attempt;
  uint32_t c0 = at->stream, c1 = at->writer, c2 = at->step, c3 = at->call;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = (uint64_t)kMultiplier0 * c0;
    const uint64_t product1 = (uint64_t)kMultiplier1 * c2;
    c0 = (uint32_t)(product1 >> 32) ^ c1 ^ key0;
    c2 = (uint32_t)(product0 >> 32) ^ c3 ^ key1;
    c1 = (uint32_t)product1;
    c3 = (uint32_t)product0;
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  uniforms[0] = uniform_of(c0, c1);
  uniforms[1] = uniform_of(c2, c3);
}

static double polynomial(const double* factors, int degree, double x) {
  double value = factors[degree];
  for (int i = degree - 1; i >= 0; --i)
    value = value * x + factors[i];
  return value;
}

/// Wichura's algorithm AS 241, PPND16: about 16 digits.
double fk_normal_quantile(double probability) {
  static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                             1.9715909503065514427e+3, 1.3731693765509461125e+4,
                             4.5921953931549871457e+4, 6.7265770927008700853e+4,
                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static const double b[] = {1.0,
                             4.2313330701600911252e+1,
                             6.8718700749205790830e+2,
                             5.3941960214247511077e+3,
                             2.1213794301586595867e+4,
                             3.9307895800092710610e+4,
                             2.8729085735721942674e+4,
                             5.2264952788528545610e+3};
  static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                             5.76949722146069140550e0,  3.64784832476320460504e0,
                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[] = {1.0,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
  static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                             1.78482653991729133580e0,  2.96560571828504891230e-1,
                             2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[] = {1.0,
                             5.99832206555887937690e-1,
                             1.36929880922735805310e-1,
                             1.48753612908506148525e-2,
                             7.86869131145613259100e-4,
                             1.84631831751005468180e-5,
                             1.42151175831644588870e-7,
                             2.04426310338993978564e-15};
  const double q = probability - 0.5;
  if (fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, 7, r) / polynomial(b, 7, r);
  }
  double r = sqrt(-log(q < 0 ? probability : 1.0 - probability));
  const double value = r <= 5.0 ? (r -= 1.6, polynomial(c, 7, r) / polynomial(d, 7, r))
                                : (r -= 5.0, polynomial(e, 7, r) / polynomial(f, 7, r));
  return q < 0 ? -value : value;
}

/// Marsaglia and Tsang, 2000. Below a shape of 1 with their boost.
static double gamma_draw(double shape, const struct fk_draw_at* at, uint32_t attempt) {
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3.0;
  const double c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    double u[2];
    fk_uniforms(at, attempt++, u);
    const double x = fk_normal_quantile(u[0]);
    const double v = pow(1.0 + c * x, 3);
    if (v <= 0 || log(u[1]) >= 0.5 * x * x + d - d * v + d * log(v)) continue;
    if (shape >= 1) return d * v;
    fk_uniforms(at, attempt, u);
    return d * v * pow(u[0], 1.0 / shape);
  }
}

/// The quantile of a Poisson distribution; rounded normal beyond a mean of 32.
static double poisson_quantile(double mean, double probability) {
  if (mean <= 0) return 0;
  if (mean > 32) return fmax(0, rint(mean + sqrt(mean) * fk_normal_quantile(probability)));
  double share = exp(-mean);
  double sum = share;
  int number = 0;
  while (probability > sum && number < 512) {
    share *= mean / ++number;
    sum += share;
  }
  return number;
}

/// Of a process over steps; the step before the first has the state of the first.
static uint32_t step_of(const struct fk_draw_at* at) {
  return at->step == UINT32_MAX ? 0 : at->step;
}

/// Walkers of a rank branch and end from the last balance on.
static double walkers_bytes(const struct fk_distribution* distribution,
                            const struct fk_draw_at* at) {
  const double* const p = distribution->parameters;
  const uint32_t first = step_of(at) / distribution->balance * distribution->balance;
  double walkers = fmax(1, rint(p[0] * pow(1 + p[4], first)));
  for (uint32_t step = first; step < step_of(at); ++step) {
    struct fk_draw_at then = *at;
    double u[2];
    then.step = step;
    fk_uniforms(&then, 0, u);
    const double branched = poisson_quantile(walkers * (p[2] + p[4]), u[0]);
    const double ended = poisson_quantile(walkers * p[3], u[1]);
    walkers = fmax(1, walkers + branched - ended);
  }
  return walkers * p[1];
}

/// The first index whose cumulative weight exceeds the probability.
static size_t index_of(const struct fk_distribution* distribution, double probability) {
  size_t low = 0;
  size_t high = distribution->count - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (distribution->weights[middle] > probability)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static double quantile_of(const struct fk_distribution* distribution, double probability) {
  const double place = probability * (double)(distribution->count - 1);
  size_t below = (size_t)place;
  if (below + 1 >= distribution->count) below = distribution->count - 2;
  const double* const values = distribution->values + below;
  return values[0] + (values[1] - values[0]) * (place - (double)below);
}

static double replayed(const struct fk_distribution* distribution, const struct fk_draw_at* at) {
  const uint32_t* const shape = distribution->shape;
  const size_t row = (size_t)(step_of(at) % shape[0]) * shape[1] + at->writer % shape[1];
  return distribution->values[row * shape[2] + at->call % shape[2]];
}

static double draw_once(const struct fk_distribution* distribution,
                        const struct fk_draw_at* at,
                        uint32_t attempt) {
  const double* const p = distribution->parameters;
  double u[2];
  fk_uniforms(at, attempt, u);
  switch (distribution->family) {
    case FK_CONSTANT:
      return p[0];
    case FK_UNIFORM:
      return p[0] + (p[1] - p[0]) * u[0];
    case FK_NORMAL:
      return p[0] + p[1] * fk_normal_quantile(u[0]);
    case FK_EXPONENTIAL:
      return p[1] - (p[0] - p[1]) * log1p(-u[0]);
    case FK_LOGNORMAL: {
      const double variance = log1p(p[1] * p[1] / (p[0] * p[0]));
      return p[0] * exp(sqrt(variance) * fk_normal_quantile(u[0]) - variance / 2);
    }
    case FK_GAMMA: {
      const double shape = p[0] * p[0] / (p[1] * p[1]);
      return gamma_draw(shape, at, attempt) * p[0] / shape;
    }
    case FK_TABLE:
      return distribution->values[index_of(distribution, u[0])];
    case FK_QUANTILES:
      return quantile_of(distribution, u[0]);
    case FK_MIXTURE:
      return draw_once(&distribution->parts[index_of(distribution, u[1])], at,
                       attempt + kPartAttempt);
    case FK_WALKERS:
      return walkers_bytes(distribution, at);
    case FK_REPLAY:
      return replayed(distribution, at);
  }
  return 0;
}

double fk_draw(const struct fk_distribution* distribution, const struct fk_draw_at* at) {
  struct fk_draw_at place = *at;
  if (distribution->drawn != FK_EACH_CALL) place.call = 0;
  if (distribution->drawn == FK_EACH_WRITER) place.step = 0;
  return draw_once(distribution, &place, 0);
}
