(define (problem miconic-3)
  (:domain miconic)
  (:objects f1 f2 f3 - floor ann bob - passenger)
  (:init (lift-at f1) (above f1 f2) (above f1 f3) (above f2 f3) (origin ann f2) (destination ann f3) (origin
         bob f3) (destination bob f1) (waiting ann) (waiting bob))
  (:goal (and (served ann) (served bob))))
