"""Functions to minimize by name: each is an expression, with the point of its minimum."""

FUNCTIONS = {
    "quadratic": "x[0]**2 + (x[1] - 1)**2",  # 0 at (0, 1)
    "sphere": "sum(x**2)",  # 0 at the origin, in any number of dimensions
    "rosenbrock": "(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2",  # 0 at (1, 1), in a curved valley
    "booth": "(x[0] + 2*x[1] - 7)**2 + (2*x[0] + x[1] - 5)**2",  # 0 at (1, 3)
    # 0 at (3, 2), (-2.81, 3.13), (-3.78, -3.28) and (3.58, -1.85)
    "himmelblau": "(x[0]**2 + x[1] - 11)**2 + (x[0] + x[1]**2 - 7)**2",
    # 0 at (3, 0.5), nearly flat around it
    "beale": (
        "(1.5 - x[0] + x[0]*x[1])**2 + (2.25 - x[0] + x[0]*x[1]**2)**2"
        " + (2.625 - x[0] + x[0]*x[1]**3)**2"
    ),
}
