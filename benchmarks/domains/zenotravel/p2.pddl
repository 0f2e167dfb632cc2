(define (problem zenotravel-2)
  (:domain zenotravel)
  (:objects plane1 plane2 - aircraft ann bob - person rome oslo - city l0 l1 l2 l3 - level)
  (:init (at plane1 rome) (at plane2 oslo) (at ann oslo) (at bob oslo) (fuel plane1 l0) (fuel plane2 l2) (next
         l0 l1) (next l1 l2) (next l2 l3))
  (:goal (and (at ann rome) (at bob rome) (at plane1 oslo))))
