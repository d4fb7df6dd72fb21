"""Variances and influences of samples in many matrices; see `inference.intervals.many_matrices`.

A matrix has classes, from its `first_class` to that of the next one, and cells, from its `first_cell`. Slopes are the
derivatives of a value in the diagonal, the true and the predicted total of each class.
"""


cdef class MatrixSlopes:
    """The cells of many matrices, and the derivatives of a value of each."""

    cdef const double[::1] a, b, p, values
    cdef const Py_ssize_t[::1] rows, columns, first_class, first_cell

    def __cinit__(self, const double[::1] values, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns,
                  const Py_ssize_t[::1] first_class, const Py_ssize_t[::1] first_cell,
                  const double[::1] diagonal, const double[::1] true, const double[::1] predicted):
        self.values, self.rows, self.columns = values, rows, columns
        self.first_class, self.first_cell = first_class, first_cell
        self.a, self.b, self.p = diagonal, true, predicted

    cdef inline double slope(self, Py_ssize_t cell) noexcept nogil:
        cdef Py_ssize_t row = self.rows[cell], column = self.columns[cell]
        cdef double g = self.b[row] + self.p[column]
        return g + self.a[row] if row == column else g

    def variances(self):
        """Return the sum over the cells of each matrix of the weight times the square of the slope less its mean."""
        cdef Py_ssize_t matrix, cell, n = self.first_class.shape[0]
        cdef double weight, sum, mean, f, square
        out = np.empty(n)
        cdef double[::1] variance = out
        with nogil:
            for matrix in range(n):
                weight, sum, square = 0.0, 0.0, 0.0
                for cell in range(self.first_cell[matrix], self.end(matrix)):
                    weight += self.values[cell]
                    sum += self.values[cell] * self.slope(cell)
                mean = sum / weight
                for cell in range(self.first_cell[matrix], self.end(matrix)):
                    f = self.slope(cell) - mean
                    square += self.values[cell] * f * f
                variance[matrix] = square
        return out

    cdef inline Py_ssize_t end(self, Py_ssize_t matrix) noexcept nogil:
        return self.values.shape[0] if matrix + 1 == self.first_class.shape[0] else self.first_cell[matrix + 1]

    def influences(self, const double[::1] true, const double[::1] predicted, const double[::1] samples,
                   const unsigned char[::1] occurs, const unsigned char[::1] thin_true,
                   const unsigned char[::1] thin_predicted):
        """Return for each matrix the sums of f^2 and f^4, and those parts of the first that are added and thin.

        f is the influence of a sample: the slope less its mean, with half a sample more of each kind in each class that
        occurs. Of thin classes, next to nothing is known.
        """
        cdef Py_ssize_t matrix, cell, k, last, n = self.first_class.shape[0]
        cdef double weight, mean, missed, invented, f, part, second, fourth, added, thin
        cdef double[3] extra
        out = np.empty((4, n))
        cdef double[:, ::1] sums = out
        with nogil:
            for matrix in range(n):
                last = self.b.shape[0] if matrix + 1 == n else self.first_class[matrix + 1]
                missed, invented, weight, mean = 0.0, 0.0, 0.0, 0.0
                for k in range(self.first_class[matrix], last):
                    missed += predicted[k] * self.p[k]
                    invented += true[k] * self.b[k]
                missed, invented = missed / samples[matrix], invented / samples[matrix]
                for cell in range(self.first_cell[matrix], self.end(matrix)):
                    weight += self.values[cell]
                    mean += self.values[cell] * self.slope(cell)
                for k in range(self.first_class[matrix], last):
                    if occurs[k]:
                        weight += 1.5
                        mean += 0.5 * (self.a[k] + self.b[k] + self.p[k] + self.b[k] + missed + self.p[k] + invented)
                mean /= weight
                second, fourth, added, thin = 0.0, 0.0, 0.0, 0.0
                for cell in range(self.first_cell[matrix], self.end(matrix)):
                    f = self.slope(cell) - mean
                    part = self.values[cell] * f * f
                    second += part
                    fourth += part * f * f
                    k = self.columns[cell]
                    if thin_true[self.rows[cell]] or (thin_predicted[k] and self.rows[cell] != k):
                        thin += part
                for k in range(self.first_class[matrix], last):
                    if not occurs[k]:
                        continue
                    extra[0] = self.a[k] + self.b[k] + self.p[k] - mean
                    extra[1], extra[2] = self.b[k] + missed - mean, self.p[k] + invented - mean
                    for cell in range(3):
                        f = extra[cell]
                        part = 0.5 * f * f
                        added += part
                        fourth += part * f * f
                        if thin_predicted[k] if cell == 2 else thin_true[k]:
                            thin += part
                sums[0, matrix], sums[1, matrix], sums[2, matrix], sums[3, matrix] = second + added, fourth, added, thin
        return out
