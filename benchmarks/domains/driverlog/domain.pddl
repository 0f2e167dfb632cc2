; Drivers walk along paths and drive trucks along roads; trucks carry packages.
(define (domain driverlog)
  (:requirements :strips :typing)
  (:types location locatable - object driver truck package - locatable)
  (:predicates (at ?x - locatable ?l - location) (in ?p - package ?t - truck) (driving ?d - driver ?t - truck)
    (road ?x ?y - location) (path ?x ?y - location) (empty ?t - truck))
  (:action load
    :parameters (?p - package ?t - truck ?l - location)
    :precondition (and (at ?t ?l) (at ?p ?l))
    :effect (and (in ?p ?t) (not (at ?p ?l))))
  (:action unload
    :parameters (?p - package ?t - truck ?l - location)
    :precondition (and (at ?t ?l) (in ?p ?t))
    :effect (and (at ?p ?l) (not (in ?p ?t))))
  (:action board
    :parameters (?d - driver ?t - truck ?l - location)
    :precondition (and (at ?t ?l) (at ?d ?l) (empty ?t))
    :effect (and (driving ?d ?t) (not (at ?d ?l)) (not (empty ?t))))
  (:action alight
    :parameters (?d - driver ?t - truck ?l - location)
    :precondition (and (at ?t ?l) (driving ?d ?t))
    :effect (and (at ?d ?l) (empty ?t) (not (driving ?d ?t))))
  (:action drive
    :parameters (?t - truck ?from ?to - location ?d - driver)
    :precondition (and (at ?t ?from) (driving ?d ?t) (road ?from ?to))
    :effect (and (at ?t ?to) (not (at ?t ?from))))
  (:action walk
    :parameters (?d - driver ?from ?to - location)
    :precondition (and (at ?d ?from) (path ?from ?to))
    :effect (and (at ?d ?to) (not (at ?d ?from)))))
