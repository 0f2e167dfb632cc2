; A lift takes passengers to the floors they want.
(define (domain miconic)
  (:requirements :strips :typing)
  (:types floor passenger)
  (:predicates (lift-at ?f - floor) (above ?low ?high - floor) (origin ?p - passenger ?f - floor)
    (destination ?p - passenger ?f - floor) (waiting ?p - passenger) (boarded ?p - passenger) (served ?p - passenger))
  (:action up
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?from ?to))
    :effect (and (lift-at ?to) (not (lift-at ?from))))
  (:action down
    :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (above ?to ?from))
    :effect (and (lift-at ?to) (not (lift-at ?from))))
  (:action board
    :parameters (?f - floor ?p - passenger)
    :precondition (and (lift-at ?f) (origin ?p ?f) (waiting ?p))
    :effect (and (boarded ?p) (not (waiting ?p))))
  (:action depart
    :parameters (?f - floor ?p - passenger)
    :precondition (and (lift-at ?f) (destination ?p ?f) (boarded ?p))
    :effect (and (served ?p) (not (boarded ?p)))))
