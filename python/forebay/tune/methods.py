# SPDX-License-Identifier: Apache-2.0
"""Search methods with one interface: `ask()` returns the index of the plan to measure, `tell()`
records its measurement, `ranking()` orders the measured plans. Times are natural logarithms of
seconds."""

import importlib.util
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import numpy as np

from forebay.errors import EXIT_USAGE, ForebayError
from forebay.tune.space import Categorical, Space

STARTS = 8  # Sobol points without a model
MODEL_STARTS = 5  # with a model: its best plan, and Sobol points among its better plans
MODEL_START_SHARE = 0.1  # of the plans, by predicted time
REFIT_EVERY = 4  # runs between two fits of hyperparameters, once there are REFIT_ALWAYS
REFIT_ALWAYS = 16
FIT_STEPS_MAX = 30  # of the optimizer of hyperparameters
NOISE_BOUNDS = (1e-4, 0.2)  # variance of the logarithm of a time
GAIN_MIN = 0.02  # expected gain, in noise deviations, that is worth a run
STOP_AFTER = 3  # proposals below it, one after the other


@dataclass
class Observations:
    """Measured times by plan, and plans that failed."""

    indices: list[int] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)

    def add(self, index: int, seconds: float | None) -> None:
        if seconds is None:
            self.failed.add(index)
            return
        self.indices.append(index)
        self.logs.append(math.log(seconds))

    def of(self, index: int) -> list[float]:
        """The logarithms of the times of a plan."""
        return [log for one, log in zip(self.indices, self.logs, strict=True) if one == index]

    def usable(self) -> list[int]:
        """Measured plans that never failed, in the order of their first measurement."""
        return [one for one in dict.fromkeys(self.indices) if one not in self.failed]


class Method:
    """Proposes random plans. Deterministic for a seed and a history.

    `predicted` has the seconds of each plan by a model, or is None. `why` is the reason of a None.
    """

    why = "all plans are measured"

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        self.space = space
        self.random = np.random.default_rng(seed)
        self.predicted = None if predicted is None else np.log(predicted)
        self.seen = Observations()

    def ask(self) -> int | None:
        """The index of the next plan; None if a further run is not worth its time."""
        left = self.unmeasured()
        return int(self.random.choice(left)) if len(left) else None

    def tell(self, index: int, seconds: float | None) -> None:
        """Takes the time of a plan; None: it failed, and is not proposed again."""
        self.seen.add(index, seconds)

    def ranking(self) -> list[int]:
        """Measured plans that are usable, the best first: here by the median of their times."""
        return sorted(self.seen.usable(), key=lambda one: median(self.seen.of(one)))

    def unmeasured(self) -> np.ndarray:
        known = [*self.seen.usable(), *self.seen.failed]
        return np.setdiff1d(np.arange(len(self.space.plans)), known)


class Started(Method):
    """Begins with space-filling starts, of a scrambled Sobol sequence."""

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        super().__init__(space, seed, predicted)
        self.starts = self._make_starts(seed)

    def ask(self) -> int | None:
        known = {*self.seen.indices, *self.seen.failed}
        start = next((one for one in self.starts if one not in known), None)
        return start if start is not None else self.propose()

    def propose(self) -> int | None:
        raise NotImplementedError

    def _make_starts(self, seed: int) -> list[int]:
        from scipy.stats import qmc

        sobol = qmc.Sobol(len(self.space.parameters), seed=seed)
        shares = sobol.random_base2(math.ceil(math.log2(4 * STARTS)))
        spread = [self.space.nearest(self.space.at(point)) for point in shares]
        if self.predicted is None:
            return list(dict.fromkeys(spread))[:STARTS]
        order = np.argsort(self.predicted, kind="stable")
        better = order[: max(MODEL_STARTS, int(MODEL_START_SHARE * len(order)))]
        features = self.space.features
        near = [
            better[np.square(features[better] - features[one]).sum(axis=1).argmin()]
            for one in spread
        ]
        return list(dict.fromkeys(map(int, [order[0], *near])))[:MODEL_STARTS]


class Ridge(Started):
    """Ridge regression on quadratic features: the surrogate of Matheny, Herbein, Podhorszki, Klasky
    and Taufer (ICPADS 2014). Every fourth proposal is random, to explore."""

    EXPLORE = 0.25

    def propose(self) -> int | None:
        left = self.unmeasured()
        if len(left) == 0 or len(self.seen.indices) < 2:
            return super(Started, self).ask()
        if self.random.random() < self.EXPLORE:
            return int(self.random.choice(left))
        return int(left[np.argmin(self._predict(left))])

    def ranking(self) -> list[int]:
        usable = self.seen.usable()
        if len(self.seen.indices) < len(self.starts):
            return super().ranking()
        return [usable[one] for one in np.argsort(self._predict(np.array(usable)), kind="stable")]

    def _predict(self, plans: np.ndarray) -> np.ndarray:
        from sklearn.linear_model import Ridge as RidgeModel
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures

        surface = make_pipeline(PolynomialFeatures(2), RidgeModel(alpha=0.1))
        surface.fit(self.space.features[self.seen.indices], self.seen.logs)
        return surface.predict(self.space.features[plans])


@dataclass(frozen=True)
class Posterior:
    """Mean and deviation of the logarithm of the time of each plan, and of the noise of a run."""

    mean: np.ndarray
    deviation: np.ndarray
    noise: float


class GaussianProcess(Started):
    """A Gaussian process on log(time), or on its residual to a model, with expected improvement.

    Of the processes with and without the model, the one with the larger likelihood is used, so a
    wrong model costs few runs.
    """

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        super().__init__(space, seed, predicted)
        self.priors = [np.zeros(len(space.plans))]
        if self.predicted is not None:
            self.priors.insert(0, self.predicted)
        self.kernels: list = [None] * len(self.priors)
        self.fitted_at = 0
        self.small_gains = 0
        self.cached: tuple[int, Posterior] | None = None

    def propose(self) -> int | None:
        left = self.unmeasured()
        if len(left) == 0 or len(self.seen.indices) < 2:
            return super(Started, self).ask()
        found = self.posterior()
        gains = self._expected_improvement(found, left)
        at = int(np.argmax(gains))
        is_small = gains[at] < GAIN_MIN * found.noise
        self.small_gains = self.small_gains + 1 if is_small else 0
        if self.small_gains < STOP_AFTER:
            return int(left[at])
        self.why = "the expected gain of a further run is below the noise"
        return None

    def ranking(self) -> list[int]:
        if len(self.seen.indices) < 2:
            return super().ranking()
        mean = self.posterior().mean
        return sorted(self.seen.usable(), key=lambda one: mean[one])

    def posterior(self) -> Posterior:
        """The posterior of all plans, after the fit of the likelier process."""
        count = len(self.seen.indices)
        if self.cached is None or self.cached[0] != count:
            self.cached = (count, self._fit())
        return self.cached[1]

    def _expected_improvement(self, found: Posterior, left: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        best = min(found.mean[one] for one in self.seen.usable())
        deviation = np.maximum(found.deviation[left], 1e-9)
        z = (best - found.mean[left]) / deviation
        return deviation * (z * ndtr(z) + np.exp(-z * z / 2) / math.sqrt(2 * math.pi))

    def _fit(self) -> Posterior:
        count = len(self.seen.indices)
        is_refit = count < REFIT_ALWAYS or count >= self.fitted_at + REFIT_EVERY
        if is_refit:
            self.fitted_at = count
        fits = [self._fit_one(number, is_refit) for number in range(len(self.priors))]
        at = max(range(len(fits)), key=lambda one: fits[one][0].log_marginal_likelihood_value_)
        process, offset = fits[at]
        mean, deviation = process.predict(self.space.features, return_std=True)
        noise = process.kernel_.k2.noise_level
        deviation = np.sqrt(np.maximum(np.square(deviation) - noise, 0))
        return Posterior(mean + offset + self.priors[at], deviation, math.sqrt(noise))

    def _fit_one(self, number: int, is_refit: bool):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor

        rows = self.seen.indices
        values = np.array(self.seen.logs) - self.priors[number][rows]
        offset = float(np.median(values))
        fresh = self._kernel()
        process = GaussianProcessRegressor(
            self.kernels[number] or fresh,
            alpha=1e-8,
            optimizer=partial(_maximize_posterior, fresh.theta) if is_refit else None,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(self.space.features[rows], values - offset)
        self.kernels[number] = process.kernel_
        return process, offset

    def _kernel(self):
        """A quadratic surface, and a smooth deviation from it."""
        from sklearn.gaussian_process import kernels as of

        scales = np.full(self.space.features.shape[1], 1.7)
        smooth = of.ConstantKernel(0.5, (1e-3, 50)) * of.Matern(scales, (0.05, 50), nu=2.5)
        quadratic = of.ConstantKernel(0.3, (1e-4, 20)) * of.DotProduct(1.0, (0.05, 20)) ** 2
        return smooth + quadratic + of.WhiteKernel(0.02, NOISE_BOUNDS)


def _maximize_posterior(center: np.ndarray, objective, start, bounds):
    """The optimizer of hyperparameters: few steps, as each fit starts from the one before. A
    log-normal prior around `center` prevents extreme values from few measurements."""
    from scipy.optimize import minimize

    # Amplitude and scales of the deviation; amplitude and offset of the surface; noise.
    width = np.array([1.0, *[0.7] * (len(center) - 4), 1.0, 0.5, 0.5])

    def penalized(theta):
        value, gradient = objective(theta)
        away = (theta - center) / width
        return value + away @ away / 2, gradient + away / width

    how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": FIT_STEPS_MAX}}
    found = minimize(penalized, start, bounds=bounds, **how)
    return found.x, found.fun


class Optuna(Method):
    """Tree-structured Parzen estimators of Optuna."""

    def __init__(self, space: Space, seed: int, predicted: Sequence[float] | None = None):
        if importlib.util.find_spec("optuna") is None:
            message = 'method optuna needs Optuna; run pip install "forebay[optuna]"'
            raise ForebayError(message, EXIT_USAGE)
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        super().__init__(space, seed, predicted)
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        self.distributions = {
            one.name: optuna.distributions.CategoricalDistribution(one.values)
            if isinstance(one, Categorical)
            else optuna.distributions.IntDistribution(0, len(one.values) - 1)
            for one in space.parameters
        }

    def ask(self) -> int | None:
        """The values may violate constraints; the nearest plan is proposed."""
        values = self.study.ask(self.distributions).params
        plan = {
            name: values[name] if isinstance(one, Categorical) else one.values[values[name]]
            for name, one in ((one.name, one) for one in self.space.parameters)
        }
        return self.space.nearest(plan)

    def tell(self, index: int, seconds: float | None) -> None:
        from optuna.trial import TrialState, create_trial

        super().tell(index, seconds)
        plan = self.space.plans[index]
        values = {
            name: plan[name] if isinstance(one, Categorical) else one.values.index(plan[name])
            for name, one in ((one.name, one) for one in self.space.parameters)
        }
        outcome = {"state": TrialState.FAIL} if seconds is None else {"value": math.log(seconds)}
        trial = create_trial(params=values, distributions=self.distributions, **outcome)
        self.study.add_trial(trial)


METHODS = {"gp": GaussianProcess, "ridge": Ridge, "random": Method, "optuna": Optuna}
IN_RUN = "in-run"


def make_method(
    name: str, space: Space, seed: int, predicted: Sequence[float] | None = None
) -> Method:
    """A method by its name."""
    if name == IN_RUN:
        from forebay.tune.in_run import InRun

        return InRun(space, seed, predicted)
    return METHODS[name](space, seed, predicted)
