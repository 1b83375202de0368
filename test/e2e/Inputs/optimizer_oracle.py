"""The optimizers of optimizer.dl, written out in float64, one element after the other.

PyTorch's formulas and defaults; LARS of You, Gitman and Ginsburg (2017) and LAMB of You et al. (2020).
"""
import math


def sgd(rate, momentum=0.0, nesterov=False, decay=0.0):
    def step(p, g, t, slots):
        g = [each + decay * own for each, own in zip(g, p)]
        if momentum:
            slots["v"] = v = [momentum * old + each for old, each in zip(slots["v"], g)]
            g = [each + momentum * moved for each, moved in zip(g, v)] if nesterov else v
        return [own - rate * each for own, each in zip(p, g)]
    return step


def adam(rate=1e-3, decay=0.0, decoupled=False, amsgrad=False, beta1=0.9, beta2=0.999, epsilon=1e-8):
    def step(p, g, t, slots):
        if decoupled:
            p = [own - rate * decay * own for own in p]
        else:
            g = [each + decay * own for each, own in zip(g, p)]
        slots["m"] = [beta1 * old + (1 - beta1) * each for old, each in zip(slots["m"], g)]
        slots["v"] = v = [beta2 * old + (1 - beta2) * each * each for old, each in zip(slots["v"], g)]
        if amsgrad:
            slots["most"] = v = [max(old, each) for old, each in zip(slots["most"], v)]
        mean = [each / (1 - beta1 ** t) for each in slots["m"]]
        square = [each / (1 - beta2 ** t) for each in v]
        return [own - rate * each / (math.sqrt(root) + epsilon) for own, each, root in zip(p, mean, square)]
    return step


def rmsprop(rate=0.01, alpha=0.99, epsilon=1e-8, momentum=0.0, centered=False):
    def step(p, g, t, slots):
        slots["v"] = v = [alpha * old + (1 - alpha) * each * each for old, each in zip(slots["v"], g)]
        if centered:
            slots["m"] = [alpha * old + (1 - alpha) * each for old, each in zip(slots["m"], g)]
            v = [square - mean * mean for square, mean in zip(v, slots["m"])]
        g = [each / (math.sqrt(square) + epsilon) for each, square in zip(g, v)]
        if momentum:
            slots["b"] = g = [momentum * old + each for old, each in zip(slots["b"], g)]
        return [own - rate * each for own, each in zip(p, g)]
    return step


def adagrad(rate=0.01, rate_decay=0.0, decay=0.0, epsilon=1e-10):
    def step(p, g, t, slots):
        g = [each + decay * own for each, own in zip(g, p)]
        slots["v"] = [old + each * each for old, each in zip(slots["v"], g)]
        now = rate / (1 + (t - 1) * rate_decay)
        return [own - now * each / (math.sqrt(square) + epsilon) for own, each, square in zip(p, g, slots["v"])]
    return step


def adadelta(rate=1.0, rho=0.9, epsilon=1e-6, decay=0.0):
    def step(p, g, t, slots):
        g = [each + decay * own for each, own in zip(g, p)]
        slots["v"] = [rho * old + (1 - rho) * each * each for old, each in zip(slots["v"], g)]
        delta = [math.sqrt(moved + epsilon) / math.sqrt(square + epsilon) * each for moved, square, each in zip(slots["d"], slots["v"], g)]
        slots["d"] = [rho * old + (1 - rho) * each * each for old, each in zip(slots["d"], delta)]
        return [own - rate * each for own, each in zip(p, delta)]
    return step


def norm(values):
    return math.sqrt(math.fsum(value * value for value in values))


def lars(rate, trust, momentum=0.9, nesterov=False, decay=0.0, epsilon=1e-8):
    def step(p, g, t, slots):
        own, slope = norm(p), norm(g)
        ratio = trust * own / (slope + decay * own + epsilon) if own > 0 and slope > 0 else 1.0
        scaled = [ratio * (each + decay * value) for each, value in zip(g, p)]
        return sgd(rate, momentum, nesterov)(p, scaled, t, slots)
    return step


def lamb(rate=1e-3, decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6):
    def step(p, g, t, slots):
        # Adam's step of rate 1 from zeros, backwards, is its direction.
        direction = [-each for each in adam(1.0, beta1=beta1, beta2=beta2, epsilon=epsilon)([0.0] * len(p), g, t, slots)]
        direction = [each + decay * own for each, own in zip(direction, p)]
        own, length = norm(p), norm(direction)
        ratio = own / length if own > 0 and length > 0 else 1.0
        return [value - rate * ratio * each for value, each in zip(p, direction)]
    return step


RULES = {
    "sgd": sgd(0.1),
    "momentum": sgd(0.1, 0.9),
    "nesterov": sgd(0.1, 0.9, True),
    "momentum_weight_decay": sgd(0.1, 0.9, decay=0.01),
    "rmsprop": rmsprop(),
    "rmsprop_centered_momentum": rmsprop(centered=True, momentum=0.9),
    "adam": adam(0.01),
    "adam_weight_decay": adam(0.01, 0.1),
    "adam_amsgrad": adam(0.01, amsgrad=True),
    "adamw": adam(0.01, 0.1, decoupled=True),
    "adamw_amsgrad": adam(0.01, 0.1, decoupled=True, amsgrad=True),
    "adagrad": adagrad(0.1),
    "adagrad_rate_decay": adagrad(0.1, 0.1, 0.01),
    "adadelta": adadelta(),
    "adadelta_weight_decay": adadelta(decay=0.01),
    "lars": lars(0.1, 0.02, decay=0.01),
    "lars_nesterov": lars(0.1, 0.02, nesterov=True),
    "lamb": lamb(0.01, 0.1),
}


def trajectory(kind, start, gradients):
    """The parameter after each of the gradients' steps."""
    p, path, slots = start, [], {name: [0.0] * len(start) for name in ("v", "m", "b", "d", "most")}
    for t, gradient in enumerate(gradients, 1):
        p = RULES[kind](p, gradient, t, slots)
        path.append(p)
    return path
